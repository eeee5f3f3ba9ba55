#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/blocking.h"
#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Workspaces: kernels keep to what a site allows them, give the same results then, and need no more
// for longer sequences and larger images than for short and small ones.
namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;
using Attributes = std::vector<std::pair<std::string, graph::Attribute>>;
using Ints = std::vector<int64_t>;

constexpr Bytes kUnlimited = Bytes(kSaturated);

// A node, its inputs, and which of them are constants that are packed.
struct Case {
  std::string name;
  OneNode node;
  std::vector<HostTensor> inputs;
  std::set<size_t> constants = {};
  int64_t least =
      0;  // a share of inputs and outputs that is needed also without workspace, in 1/16
};

struct Prepared {
  graph::Graph graph;
  HeapPackedWeights weights;
  std::vector<TensorInfo> outputs;
  KernelPointer kernel;
  Bytes read_and_written;
};

Result<std::unique_ptr<Prepared>> PrepareWithin(const Case& one, Bytes most) {
  auto prepared = std::make_unique<Prepared>();
  prepared->graph = one.node.Build(one.inputs);
  prepared->graph.nodes[0].version = one.node.version;
  graph::InferContext context(prepared->graph, graph::NodeId(0), nullptr);
  PLIMSOLL_TRY(graph::FindOperator(one.node.domain, one.node.op, one.node.version)->infer(context));
  KernelSite site{.graph = prepared->graph,
                  .id = graph::NodeId(0),
                  .inputs = {},
                  .outputs = {},
                  .packed_weights = &prepared->weights,
                  .most_workspace = most};
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    const HostTensor& input = one.inputs[i];
    const bool known = one.constants.contains(i) || input.type == DataType::kInt64;
    site.inputs.push_back({.type = input.type,
                           .dims = input.dims,
                           .data = known ? input.data.get() : nullptr,
                           .constant = one.constants.contains(i)});
    if (site.inputs.back().present()) prepared->read_and_written += site.inputs.back().size();
  }
  for (const graph::ValueId id : prepared->graph.nodes[0].outputs) {
    const graph::ValueType& type = prepared->graph[id].type;
    site.outputs.push_back({.type = type.data_type, .dims = graph::StaticDims(*type.shape)});
    prepared->read_and_written += site.outputs.back().size();
  }
  PLIMSOLL_ASSIGN(prepared->kernel, PrepareKernel(site));
  prepared->outputs = site.outputs;
  return prepared;
}

// All elements of all outputs; the workspace is full of ones before the run, and so is what lies
// behind it, which must stay so.
Result<std::vector<double>> RunWithin(const Case& one, const Prepared& prepared) {
  constexpr int64_t kGuard = 256;
  std::vector<const void*> from;
  for (const HostTensor& input : one.inputs) from.push_back(input.data.get());
  std::vector<HostTensor> made;
  std::vector<void*> to;
  for (const TensorInfo& output : prepared.outputs) {
    made.push_back(*AllocateOnHeap(output.type, output.dims));
    to.push_back(made.back().data.get());
  }
  const int64_t size = prepared.kernel->workspace().value();
  const HostTensor workspace = *AllocateOnHeap(DataType::kUint8, {size + kGuard});
  auto* const bytes = static_cast<uint8_t*>(workspace.data.get());
  std::fill_n(bytes, size + kGuard, uint8_t{0xff});
  PLIMSOLL_TRY(prepared.kernel->Run({.inputs = from, .outputs = to, .workspace = bytes}));
  EXPECT_TRUE(std::all_of(bytes + size, bytes + size + kGuard, [](uint8_t b) { return b == 0xff; }))
      << one.name;
  std::vector<double> elements;
  for (const HostTensor& tensor : made) {
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      elements.push_back(LoadDouble(tensor.type, tensor.data.get(), i));
    }
  }
  return elements;
}

HostTensor Bytes8(Dims dims, int seed) {
  HostTensor tensor = *AllocateOnHeap(DataType::kUint8, std::move(dims));
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
HostTensor Small(Dims dims, int seed) {
  HostTensor tensor = Wavy(std::move(dims), seed);
  auto* const elements = static_cast<float*>(tensor.data.get());
  for (int64_t i = 0; i < tensor.elements(); ++i) elements[i] *= 0.1f;
  return tensor;
}

Case RandomConv(Dice& dice) {
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

Case RandomConvTranspose(Dice& dice) {
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
Case RandomFusedConv(Dice& dice) {
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
  Case one{"FusedConv",
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

Case RandomRecurrent(Dice& dice) {
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

Case RandomMatMul(Dice& dice) {
  const int64_t rows = dice.OneOf<int64_t>({1, 3, 7, 50, 200});
  const int64_t depth = dice.OneOf<int64_t>({1, 17, 500, 1000});
  const int64_t columns = dice.OneOf<int64_t>({1, 5, 16, 100, 300});
  const int64_t batch = dice.Of(1, 3);
  return {
      "MatMul", {"MatMul", {}}, {Wavy({batch, rows, depth}, 1), Wavy({batch, depth, columns}, 2)}};
}

Case RandomGemm(Dice& dice) {
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

Case RandomEinsum(Dice& dice) {
  const int64_t i = dice.Of(20, 90);
  const int64_t j = dice.Of(20, 90);
  const int64_t k = dice.Of(20, 90);
  switch (dice.Of(0, 4)) {
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
    default:
      // What two operands make lies in the workspace until the third joins in.
      return {"three",
              {"Einsum", {{"equation", std::string("ij,jk,kl,lm->im")}}},
              {Wavy({i, j}, 1), Wavy({j, k}, 2), Wavy({k, 7}, 3), Wavy({7, 9}, 4)},
              {},
              16};
  }
}

Case RandomResize(Dice& dice) {
  Dims data = {dice.Of(1, 2), dice.Of(1, 3), dice.Of(5, 20), dice.Of(5, 20)};
  std::vector<float> scales = {1, 1};
  for (int axis = 0; axis < 2; ++axis)
    scales.push_back(dice.OneOf<float>({0.4f, 1.0f, 2.0f, 3.5f}));
  if (scales[2] == 1 && scales[3] == 1) scales[3] = 2;
  const int64_t antialias = dice.Of(0, 1);
  const bool halves = dice.Of(0, 2) == 0;
  HostTensor image = Wavy(data, 1);
  if (halves) {
    HostTensor bytes = Bytes8(data, 7);
    image = bytes;
  }
  return {"Resize",
          {"Resize",
           {{"mode", dice.OneOf<std::string>({"linear", "cubic"})}, {"antialias", antialias}}},
          {image, HostTensor(), Numbers<float>({4}, scales)},
          {2},
          // A plane of few rows: as many rows as a result is summed from.
          16};
}

Case RandomTopK(Dice& dice) {
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

Case RandomAttention(Dice& dice) {
  const int64_t heads = dice.Of(1, 4);
  const int64_t width = dice.Of(4, 40);
  const int64_t queries = dice.OneOf<int64_t>({1, 20, 70});
  const int64_t keys = dice.OneOf<int64_t>({queries, queries + 13});
  return {"Attention",
          {"Attention", {{"is_causal", dice.Of(0, 1)}}, 1, "", 23},
          {Wavy({2, heads, queries, width}, 1), Wavy({2, heads, keys, width}, 2),
           Wavy({2, heads, keys, width}, 3)}};
}

Case RandomIntegerProduct(Dice& dice) {
  const int64_t rows = dice.Of(1, 20);
  const int64_t depth = dice.Of(1, 50);
  const int64_t columns = dice.OneOf<int64_t>({1, 7, 300});
  return {"MatMulInteger",
          {"MatMulInteger", {}},
          {Bytes8({rows, depth}, 1), Bytes8({depth, columns}, 2), Bytes8({rows}, 3),
           Bytes8({columns}, 4)}};
}

Case RandomIntegerConv(Dice& dice) {
  return {"ConvInteger",
          {"ConvInteger", {{"pads", Ints{1, 1, 1, 1}}}},
          {Bytes8({2, 3, dice.Of(5, 12), 9}, 1), Bytes8({4, 3, 3, 3}, 2), Bytes8({1}, 3),
           Bytes8({4}, 4)}};
}

Case RandomLoss(Dice& dice) {
  const int64_t items = dice.OneOf<int64_t>({3, 4096, 9000});
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < items; ++i) labels.push_back(dice.Of(0, 4));
  return {"SoftmaxCrossEntropyLoss",
          {"SoftmaxCrossEntropyLoss",
           {{"reduction", dice.OneOf<std::string>({"mean", "sum", "none"})}}},
          {Wavy({items, 5}, 1), Numbers<int64_t>({items}, labels)}};
}

using Maker = Case (*)(Dice&);
struct Family {
  std::string name;
  Maker make;
  double tolerance;  // of sums that may be added in another order; 0: to the last bit
};

class WorkspaceOf : public testing::TestWithParam<Family> {};

// A small fixed amount that a kernel may need whatever it is given.
constexpr int64_t kScratch = 64 << 10;

TEST_P(WorkspaceOf, ShrinksWithoutChangingResults) {
  Dice dice(2026);
  const int threads = Threads();
  for (int turn = 0; turn < 25; ++turn) {
    SetThreads(turn % 5 == 0 ? 3 : 1);
    const Case one = GetParam().make(dice);
    const auto free = PrepareWithin(one, kUnlimited);
    ASSERT_TRUE(free.ok()) << one.name << ": " << free.error().Text();
    const Bytes wanted = (**free).kernel->workspace();
    const auto expected = RunWithin(one, **free);
    ASSERT_TRUE(expected.ok()) << one.name << ": " << expected.error().Text();
    for (const Bytes most : {Bytes(wanted.value() / 2), Bytes(4096), Bytes(0)}) {
      const auto bound = PrepareWithin(one, most);
      ASSERT_TRUE(bound.ok()) << one.name << ": " << bound.error().Text();
      const Bytes taken = (**bound).kernel->workspace();
      EXPECT_LE(taken, wanted) << one.name;
      if (most == Bytes(0)) {
        const int64_t whole = (**bound).read_and_written.value();
        EXPECT_LE(taken.value(), kScratch + whole * one.least / 16) << one.name;
      }
      const auto made = RunWithin(one, **bound);
      ASSERT_TRUE(made.ok()) << one.name << ": " << made.error().Text();
      ASSERT_EQ(made->size(), expected->size());
      for (size_t i = 0; i < made->size(); ++i) {
        ASSERT_NEAR((*made)[i], (*expected)[i],
                    GetParam().tolerance * std::max(1.0, std::abs((*expected)[i])))
            << one.name << " turn " << turn << " element " << i << " within " << most.value();
      }
    }
  }
  SetThreads(threads);
}

INSTANTIATE_TEST_SUITE_P(
    Families, WorkspaceOf,
    testing::Values(Family{"Conv", RandomConv, 1e-4}, Family{"FusedConv", RandomFusedConv, 1e-4},
                    Family{"ConvTranspose", RandomConvTranspose, 2e-5},
                    Family{"Recurrent", RandomRecurrent, 2e-5}, Family{"MatMul", RandomMatMul, 0},
                    Family{"Gemm", RandomGemm, 0}, Family{"Einsum", RandomEinsum, 0},
                    Family{"Resize", RandomResize, 0}, Family{"TopK", RandomTopK, 0},
                    Family{"Attention", RandomAttention, 2e-5},
                    Family{"IntegerProduct", RandomIntegerProduct, 0},
                    Family{"IntegerConv", RandomIntegerConv, 0}, Family{"Loss", RandomLoss, 0}),
    [](const auto& family) { return family.param.name; });

Bytes WorkspaceWithin(const Case& one, Bytes most) {
  const auto prepared = PrepareWithin(one, most);
  EXPECT_TRUE(prepared.ok()) << one.name;
  return prepared.ok() ? (**prepared).kernel->workspace() : kUnlimited;
}

Case Lstm(int64_t sequence) {
  return {"LSTM",
          {"LSTM", {{"hidden_size", int64_t{64}}}},
          {Wavy({sequence, 2, 32}), Wavy({1, 256, 32}, 1), Wavy({1, 256, 64}, 2)},
          {1, 2}};
}

TEST(Workspace, OfARecurrentLayerDoesNotGrowWithTheSequence) {
  EXPECT_LE(WorkspaceWithin(Lstm(20000), kUnlimited).value(), 384 << 10);
  EXPECT_EQ(WorkspaceWithin(Lstm(20000), Bytes(0)), WorkspaceWithin(Lstm(2), Bytes(0)));
}

Case UpConvolution(int64_t size) {
  return {"ConvTranspose",
          {"ConvTranspose", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
          {Wavy({1, 32, size, size}, 1), Wavy({32, 16, 2, 2}, 2)},
          {1}};
}

TEST(Workspace, OfATransposedConvolutionDoesNotGrowWithTheImage) {
  EXPECT_EQ(WorkspaceWithin(UpConvolution(256), kUnlimited),
            WorkspaceWithin(UpConvolution(32), kUnlimited));
  EXPECT_LE(WorkspaceWithin(UpConvolution(256), kUnlimited).value(), 512 << 10);
}

Case PlainConvolution(int64_t size) {
  return {"Conv",
          {"Conv", {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
          {Wavy({1, 16, size, size}, 1), Wavy({64, 16, 3, 3}, 2)},
          {1}};
}

TEST(Workspace, OfAConvolutionIsSmallWhereThatIsAskedFor) {
  EXPECT_EQ(WorkspaceWithin(PlainConvolution(128), Bytes(0)),
            WorkspaceWithin(PlainConvolution(32), Bytes(0)));
  // By default no more than the data itself in another form.
  const auto prepared = PrepareWithin(PlainConvolution(128), kUnlimited);
  ASSERT_TRUE(prepared.ok());
  EXPECT_LT((**prepared).kernel->workspace(), (**prepared).read_and_written);
}

TEST(Workspace, OfAProductIsBounded) {
  const Case one{"MatMul", {"MatMul", {}}, {Wavy({20, 3000}, 1), Wavy({3000, 2000}, 2)}};
  EXPECT_LE(WorkspaceWithin(one, kUnlimited).value(), 1 << 20);
  EXPECT_LE(WorkspaceWithin(one, Bytes(0)).value(), 32 << 10);
}

TEST(Workspace, OfAResizedImageIsAFewRows) {
  const Case one{"Resize",
                 {"Resize", {{"mode", std::string("linear")}}},
                 {Wavy({1, 1, 300, 200}), HostTensor(), Numbers<float>({4}, {1, 1, 2, 2})},
                 {2}};
  constexpr int64_t kRow = 400 * 4;
  EXPECT_LE(WorkspaceWithin(one, kUnlimited).value(), 4 * kRow);
}

TEST(Workspace, HasAPurposeWhereItGrowsWithTheNode) {
  const auto prepared = PrepareWithin(Lstm(64), kUnlimited);
  ASSERT_TRUE(prepared.ok());
  EXPECT_FALSE((**prepared).kernel->workspace_purpose().empty());
}

}  // namespace
}  // namespace plimsoll::kernels::cpu
