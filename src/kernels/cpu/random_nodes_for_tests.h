#pragma once

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/blocking.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "plimsoll/base/text.h"

// For tests: nodes with drawn shapes and attributes, of every family whose kernels have a
// workspace.
namespace plimsoll::kernels::cpu {

using Ints = std::vector<int64_t>;

// A node, its inputs, and which of them are constants that are packed.
struct Case {
  std::string name;
  OneNode node;
  std::vector<HostTensor> inputs;
  std::set<size_t> constants = {};
  int64_t least =
      0;  // a share of inputs and outputs that is needed also without workspace, in 1/16
};

inline HostTensor Bytes8(Dims dims, int seed) {
  HostTensor tensor = *AllocateOnHeap(graph::DataType::kUint8, std::move(dims));
  std::mt19937 random(static_cast<unsigned>(seed));
  auto* const elements = static_cast<uint8_t*>(tensor.data.get());
  for (int64_t i = 0; i < tensor.elements(); ++i) elements[i] = static_cast<uint8_t>(random());
  return tensor;
}

// Draws shapes.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int64_t Of(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  template <typename T>
  T OneOf(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(Of(0, static_cast<int64_t>(choices.size()) - 1))];
  }

 private:
  std::mt19937 random_;
};

// Small weights, for a recurrence that does not blow differences up.
inline HostTensor Small(Dims dims, int seed) {
  HostTensor tensor = Wavy(std::move(dims), seed);
  auto* const elements = static_cast<float*>(tensor.data.get());
  for (int64_t i = 0; i < tensor.elements(); ++i) elements[i] *= 0.1f;
  return tensor;
}

inline Case RandomConv(Dice& dice) {
  const int64_t groups = dice.OneOf<int64_t>({1, 1, 1, 2, 16});
  const int64_t channels = groups * dice.OneOf<int64_t>({1, 3, 8, 16});
  const int64_t filters = groups * dice.OneOf<int64_t>({1, 5, 8, 32, 64});
  const int64_t kernel = dice.OneOf<int64_t>({1, 3, 5});
  const int64_t stride = dice.Of(1, 2);
  const int64_t dilation = dice.OneOf<int64_t>({1, 1, 3});
  const int64_t pad = dice.Of(0, kernel);
  const int64_t rank = dice.Of(1, 3);
  const auto all = [rank](int64_t size) { return Ints(static_cast<size_t>(rank), size); };
  Dims data = {dice.Of(1, 3), channels};
  Dims weights = {filters, channels / groups};
  for (int64_t axis = 0; axis < rank; ++axis) {
    data.push_back(dice.Of(13, rank == 3 ? 14 : 22));
    weights.push_back(kernel);
  }
  Ints pads = all(pad);
  pads.insert(pads.end(), static_cast<size_t>(rank), pad / 2);
  return {"Conv",
          {"Conv",
           {{"group", groups},
            {"kernel_shape", all(kernel)},
            {"strides", all(stride)},
            {"dilations", all(dilation)},
            {"pads", pads}}},
          {Wavy(data, 1), Wavy(weights, 2), Wavy({filters}, 3)},
          {1, 2}};
}

inline Case RandomConvTranspose(Dice& dice) {
  const int64_t groups = dice.OneOf<int64_t>({1, 1, 2, 3});
  const int64_t channels = groups * dice.OneOf<int64_t>({1, 4, 17});
  const int64_t filters = dice.OneOf<int64_t>({1, 3, 8, 20});
  const int64_t stride = dice.Of(1, 3);
  const int64_t kernel = dice.OneOf<int64_t>({stride, 1, 2, 3, 4});
  const int64_t dilation = dice.OneOf<int64_t>({1, 1, 2});
  const int64_t pad = dice.Of(0, (kernel - 1) * dilation / 2);
  const int64_t extra = stride > 1 ? dice.Of(0, 1) : 0;
  const int64_t rank = dice.Of(1, 2);
  const auto all = [rank](int64_t size) { return Ints(static_cast<size_t>(rank), size); };
  Dims data = {dice.Of(1, 2), channels};
  Dims weights = {channels, filters};
  for (int64_t axis = 0; axis < rank; ++axis) {
    data.push_back(dice.Of(5, 25));
    weights.push_back(kernel);
  }
  Ints pads = all(pad);
  pads.insert(pads.end(), static_cast<size_t>(rank), pad);
  Case one{"ConvTranspose",
           {"ConvTranspose",
            {{"group", groups},
             {"kernel_shape", all(kernel)},
             {"strides", all(stride)},
             {"dilations", all(dilation)},
             {"output_padding", all(extra)},
             {"pads", pads}}},
           {Wavy(data, 1), Wavy(weights, 2), Wavy({filters * groups}, 3)}};
  if (dice.Of(0, 1) == 1) one.constants = {1, 2};
  return one;
}

// With blocked or plain input and output, residual and activation.
inline Case RandomFusedConv(Dice& dice) {
  const int64_t block = BlockSize();
  const int64_t channels = dice.OneOf<int64_t>({3, 8, 16, 20, 64});
  const int64_t filters = dice.OneOf<int64_t>({5, 16, 32, 64, 128});
  const int64_t kernel = dice.OneOf<int64_t>({1, 3});
  const int64_t dilation = dice.OneOf<int64_t>({1, 1, 4});
  const int64_t size = dice.Of(9, 21);
  const int64_t pad = (kernel - 1) * dilation / 2;
  const bool in = dice.Of(0, 1) == 1;
  const bool out = dice.Of(0, 1) == 1;
  const auto dims = [&](bool blocked, int64_t count) {
    if (!blocked) return Dims{1, count, size, size};
    return Dims{1, (count + block - 1) / block, size, size, block};
  };
  Case one{StrCat("FusedConv of ", channels, in ? " blocked" : " plain", " channels, ", filters,
                  out ? " blocked" : " plain", " filters, kernel ", kernel, ", dilation ", dilation,
                  ", size ", size),
           {"FusedConv",
            {{"kernel_shape", Ints{kernel, kernel}},
             {"dilations", Ints{dilation, dilation}},
             {"pads", Ints{pad, pad, pad, pad}},
             {"block", block},
             {"input_blocked", int64_t{in}},
             {"output_blocked", int64_t{out}},
             {"channels", channels},
             {"activation", dice.OneOf<std::string>({"", "Relu", "Sigmoid"})}},
            1,
            "plimsoll",
            1},
           {Wavy(dims(in, channels), 1), Wavy({filters, channels, kernel, kernel}, 2),
            Wavy({filters}, 3)},
           {1, 2}};
  // Lanes behind the last channel of a blocked tensor hold zeros.
  const auto clear = [&](HostTensor& tensor, int64_t count) {
    auto* const elements = static_cast<float*>(tensor.data.get());
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      if (i / (size * size * block) * block + i % block >= count) elements[i] = 0;
    }
  };
  if (in) clear(one.inputs[0], channels);
  if (dice.Of(0, 1) == 1) {
    one.inputs.push_back(Wavy(dims(out, filters), 4));
    if (out) clear(one.inputs[3], filters);
  }
  return one;
}

inline Case RandomRecurrent(Dice& dice) {
  const std::string op = dice.OneOf<std::string>({"RNN", "GRU", "LSTM"});
  const int64_t gates = op == "RNN" ? 1 : op == "GRU" ? 3 : 4;
  const std::string direction = dice.OneOf<std::string>({"forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const int64_t sequence = dice.Of(1, 40);
  const int64_t batch = dice.Of(1, 5);
  const int64_t features = dice.Of(1, 20);
  const int64_t hidden = dice.Of(1, 40);
  const int64_t layout = dice.Of(0, 1);
  Case one{
      StrCat(op, " ", direction),
      {op,
       {{"hidden_size", hidden}, {"direction", direction}, {"layout", layout}},
       static_cast<size_t>(op == "LSTM" ? 3 : 2)},
      {Wavy(layout == 1 ? Dims{batch, sequence, features} : Dims{sequence, batch, features}),
       Small({directions, gates * hidden, features}, 1),
       Small({directions, gates * hidden, hidden}, 2), Small({directions, 2 * gates * hidden}, 3)}};
  if (op == "GRU") one.node.attributes.push_back({"linear_before_reset", dice.Of(0, 1)});
  if (dice.Of(0, 1) == 1) {
    std::vector<int32_t> lengths;
    for (int64_t i = 0; i < batch; ++i) {
      lengths.push_back(static_cast<int32_t>(dice.Of(0, sequence)));
    }
    one.inputs.push_back(Numbers<int32_t>({batch}, lengths));
  }
  if (dice.Of(0, 1) == 1) one.constants = {1, 2, 3};
  return one;
}

inline Case RandomMatMul(Dice& dice) {
  const int64_t rows = dice.OneOf<int64_t>({1, 3, 7, 50, 200});
  const int64_t depth = dice.OneOf<int64_t>({1, 17, 500, 1000});
  const int64_t columns = dice.OneOf<int64_t>({1, 5, 16, 100, 300});
  const int64_t batch = dice.Of(1, 3);
  return {
      "MatMul", {"MatMul", {}}, {Wavy({batch, rows, depth}, 1), Wavy({batch, depth, columns}, 2)}};
}

inline Case RandomGemm(Dice& dice) {
  const int64_t rows = dice.Of(1, 60);
  const int64_t depth = dice.OneOf<int64_t>({9, 800});
  const int64_t columns = dice.Of(1, 300);
  const int64_t left = dice.Of(0, 1);
  const int64_t right = dice.Of(0, 1);
  return {"Gemm",
          {"Gemm", {{"transA", left}, {"transB", right}, {"alpha", 0.5f}}},
          {Wavy(left == 1 ? Dims{depth, rows} : Dims{rows, depth}, 1),
           Wavy(right == 1 ? Dims{columns, depth} : Dims{depth, columns}, 2), Wavy({columns}, 3)}};
}

inline Case RandomEinsum(Dice& dice) {
  const int64_t i = dice.Of(20, 90);
  const int64_t j = dice.Of(20, 90);
  const int64_t k = dice.Of(20, 90);
  switch (dice.Of(0, 5)) {
    case 0:
      return {"ij,jk",
              {"Einsum", {{"equation", std::string("ij,jk->ik")}}},
              {Wavy({i, j}, 1), Wavy({j, k}, 2)}};
    case 1:
      return {"ij,jk turned",
              {"Einsum", {{"equation", std::string("ij,jk->ki")}}},
              {Wavy({i, j}, 1), Wavy({j, k}, 2)}};
    case 2:
      return {"ji,jk",
              {"Einsum", {{"equation", std::string("ji,jk->ik")}}},
              {Wavy({j, i}, 1), Wavy({j, k}, 2)}};
    case 3:
      return {"two summed",
              {"Einsum", {{"equation", std::string("aib,bka->ik")}}},
              {Wavy({3, i, j}, 1), Wavy({j, k, 3}, 2)}};
    case 4:
      // What two operands make is larger than all that is read and written.
      return {"scan",
              {"Einsum", {{"equation", std::string("bcln,bcsn,bhcls,bcshp->bclhp")}}},
              {Wavy({1, 4, i, 8}, 1), Wavy({1, 4, j, 8}, 2), Wavy({1, 6, 4, i, j}, 3),
               Wavy({1, 4, j, 6, 3}, 4)}};
    default:
      // What two operands make lies in the workspace until the third joins in.
      return {"three",
              {"Einsum", {{"equation", std::string("ij,jk,kl,lm->im")}}},
              {Wavy({i, j}, 1), Wavy({j, k}, 2), Wavy({k, 7}, 3), Wavy({7, 9}, 4)},
              {},
              16};
  }
}

inline Case RandomResize(Dice& dice) {
  Dims data = {dice.Of(1, 2), dice.Of(1, 3), dice.Of(5, 20), dice.Of(5, 20)};
  std::vector<float> scales = {1, 1};
  for (int axis = 0; axis < 2; ++axis)
    scales.push_back(dice.OneOf<float>({0.4f, 1.0f, 2.0f, 3.5f}));
  if (scales[2] == 1 && scales[3] == 1) scales[3] = 2;
  const int64_t antialias = dice.Of(0, 1);
  const HostTensor image = dice.Of(0, 2) == 0 ? Bytes8(data, 7) : Wavy(data, 1);
  return {"Resize",
          {"Resize",
           {{"mode", dice.OneOf<std::string>({"linear", "cubic"})}, {"antialias", antialias}}},
          {image, HostTensor(), Numbers<float>({4}, scales)},
          {2},
          // A plane of few rows: as many rows as a result is summed from.
          16};
}

inline Case RandomTopK(Dice& dice) {
  const int64_t length = dice.Of(1, 200);
  const int64_t kept = dice.OneOf<int64_t>({1, (length + 1) / 2, length});
  const int64_t axis = dice.Of(0, 1);
  Case one{"TopK",
           {"TopK", {{"axis", axis}, {"largest", dice.Of(0, 1)}}, 2},
           {Wavy(axis == 0 ? Dims{length, 3} : Dims{3, length}, 1), Numbers<int64_t>({1}, {kept})}};
  // Equal elements: the lower index comes first.
  auto* const elements = static_cast<float*>(one.inputs[0].data.get());
  for (int64_t i = 0; i < one.inputs[0].elements(); ++i) elements[i] = std::round(elements[i] * 5);
  return one;
}

inline Case RandomAttention(Dice& dice) {
  const int64_t heads = dice.Of(1, 4);
  const int64_t width = dice.Of(4, 40);
  const int64_t queries = dice.OneOf<int64_t>({1, 20, 70});
  const int64_t keys = dice.OneOf<int64_t>({queries, queries + 13});
  return {"Attention",
          {"Attention", {{"is_causal", dice.Of(0, 1)}}, 1, "", 23},
          {Wavy({2, heads, queries, width}, 1), Wavy({2, heads, keys, width}, 2),
           Wavy({2, heads, keys, width}, 3)}};
}

inline Case RandomIntegerProduct(Dice& dice) {
  const int64_t rows = dice.Of(1, 20);
  const int64_t depth = dice.Of(1, 50);
  const int64_t columns = dice.OneOf<int64_t>({1, 7, 300});
  return {"MatMulInteger",
          {"MatMulInteger", {}},
          {Bytes8({rows, depth}, 1), Bytes8({depth, columns}, 2), Bytes8({rows}, 3),
           Bytes8({columns}, 4)}};
}

inline Case RandomIntegerConv(Dice& dice) {
  return {"ConvInteger",
          {"ConvInteger", {{"pads", Ints{1, 1, 1, 1}}}},
          {Bytes8({2, 3, dice.Of(5, 12), 9}, 1), Bytes8({4, 3, 3, 3}, 2), Bytes8({1}, 3),
           Bytes8({4}, 4)}};
}

inline Case RandomLoss(Dice& dice) {
  const int64_t items = dice.OneOf<int64_t>({3, 4096, 9000});
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < items; ++i) labels.push_back(dice.Of(0, 4));
  return {"SoftmaxCrossEntropyLoss",
          {"SoftmaxCrossEntropyLoss",
           {{"reduction", dice.OneOf<std::string>({"mean", "sum", "none"})}}},
          {Wavy({items, 5}, 1), Numbers<int64_t>({items}, labels)}};
}

}  // namespace plimsoll::kernels::cpu
