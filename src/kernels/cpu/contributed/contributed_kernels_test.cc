#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "kernels/cpu/one_node.h"
#include "kernels/kernel_table.h"

namespace plimsoll::kernels::cpu {
namespace contributed_kernels_test {

using graph::DataType;
using testing::HasSubstr;

std::vector<float> Drawn(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> floats(count);
  for (float& element : floats) element = static_cast<float>(random() % 2001) / 1000 - 1;
  return floats;
}

OneNode Node(std::string op, std::vector<std::pair<std::string, graph::Attribute>> attributes,
             size_t outputs = 1) {
  return {std::move(op), std::move(attributes), outputs, "com.microsoft", 1};
}

std::vector<HostTensor> Made(const OneNode& node, const std::vector<HostTensor>& inputs) {
  auto made = node.Run(inputs);
  if (made.ok()) return *std::move(made);
  ADD_FAILURE() << made.error().Text();
  return std::vector<HostTensor>(node.outputs);
}

std::string WhyNot(const OneNode& node, const std::vector<HostTensor>& inputs) {
  const auto made = node.Run(inputs);
  return made.ok() ? "it runs" : made.error().Text();
}

// Few rows meet packed weights, many a panel of floats: both are the definition.
TEST(MatMulNBitsTest, WeightsAreUnpackedBlockByBlock) {
  for (const int64_t bits : {4, 8}) {
    for (const int64_t rows : {1, 3, 4, 5, 30}) {
      const int64_t n = 19, k = 70, block = 32, blocks = 3;
      std::mt19937 random(static_cast<uint32_t>(rows));
      std::vector<uint8_t> packed(static_cast<size_t>(n * blocks * block * bits / 8));
      for (uint8_t& byte : packed) byte = static_cast<uint8_t>(random());
      std::vector<uint8_t> zeros(static_cast<size_t>(n * ((blocks * bits + 7) / 8)));
      for (uint8_t& byte : zeros) byte = static_cast<uint8_t>(random());
      const std::vector<float> scales = Drawn(static_cast<size_t>(n * blocks), 3);
      const std::vector<float> a = Drawn(static_cast<size_t>(rows * k), 4);
      const auto y = ElementsOf<float>(Made(
          Node("MatMulNBits", {{"N", n}, {"K", k}, {"bits", bits}, {"block_size", block}}),
          {Numbers<float>({rows, k}, a), Numbers<uint8_t>({n, blocks, block * bits / 8}, packed),
           Numbers<float>({n * blocks}, scales),
           Numbers<uint8_t>({static_cast<int64_t>(zeros.size())}, zeros)})[0]);
      const int64_t zero_bytes = (blocks * bits + 7) / 8;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < n; ++column) {
          double sum = 0;
          for (int64_t d = 0; d < k; ++d) {
            const int q = LoadBits(static_cast<int>(bits),
                                   packed.data() + column * blocks * block * bits / 8, d);
            const int zero =
                LoadBits(static_cast<int>(bits), zeros.data() + column * zero_bytes, d / block);
            sum += static_cast<double>(a[static_cast<size_t>(row * k + d)]) * (q - zero) *
                   static_cast<double>(scales[static_cast<size_t>(column * blocks + d / block)]);
          }
          ASSERT_NEAR(y[static_cast<size_t>(row * n + column)], sum, 1e-3 * (1 + std::abs(sum)))
              << bits << " bits, " << rows << " rows at " << row << "," << column;
        }
      }
    }
  }
}

TEST(MatMulNBitsTest, WhatDoesNotFitIsNamed) {
  const OneNode node =
      Node("MatMulNBits", {{"N", int64_t{2}}, {"K", int64_t{32}}, {"block_size", int64_t{32}}});
  const auto a = Numbers<float>({1, 32}, Drawn(32, 1));
  const auto b = Numbers<uint8_t>({2, 1, 16}, std::vector<uint8_t>(32));
  EXPECT_THAT(WhyNot(node, {a, b, Numbers<float>({3}, {1, 1, 1})}), HasSubstr("2 scales"));
  EXPECT_THAT(WhyNot(node, {a, b, Numbers<float>({2}, {1, 1}), Numbers<uint8_t>({1}, {1})}),
              HasSubstr("zero point"));
}

struct CachedStep {
  int64_t capacity = 6;
  int64_t before = 3;  // keys in the cache

  OneNode Node() const {
    return {"GroupQueryAttention",
            {{"num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}},
            3,
            "com.microsoft",
            1};
  }
  std::vector<HostTensor> Inputs() const {
    const std::vector<float> past = Drawn(static_cast<size_t>(2 * capacity * 8), 7);
    return {Numbers<float>({1, 1, 32}, Drawn(32, 1)),
            Numbers<float>({1, 1, 16}, Drawn(16, 2)),
            Numbers<float>({1, 1, 16}, Drawn(16, 3)),
            Numbers<float>({1, 2, capacity, 8}, past),
            Numbers<float>({1, 2, capacity, 8}, past),
            Numbers<int32_t>({1}, {static_cast<int32_t>(before)}),
            Numbers<int32_t>({}, {static_cast<int32_t>(before + 1)})};
  }
};

TEST(GroupQueryAttentionTest, NewRowsStandBehindThoseOfThePast) {
  const CachedStep step;
  const auto inputs = step.Inputs();
  const auto made = Made(step.Node(), inputs);
  const auto past = ElementsOf<float>(inputs[3]);
  const auto present = ElementsOf<float>(made[1]);
  const auto key = ElementsOf<float>(inputs[1]);
  ASSERT_EQ(made[1].dims, (Dims{1, 2, 6, 8}));
  for (size_t head = 0; head < 2; ++head) {
    for (size_t i = 0; i < 24; ++i) EXPECT_EQ(present[head * 48 + i], past[head * 48 + i]);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(present[head * 48 + 24 + i], key[head * 8 + i]);
  }
}

TEST(GroupQueryAttentionTest, ACacheInItsOwnMemoryGivesTheSame) {
  const CachedStep step;
  auto inputs = step.Inputs();
  const auto apart = Made(step.Node(), inputs);
  const graph::Graph graph = step.Node().Build(inputs);
  auto sized = graph;
  ASSERT_TRUE(graph::FindOperator("com.microsoft", "GroupQueryAttention", 1) != nullptr);
  std::vector<TensorInfo> in, out;
  for (const HostTensor& tensor : inputs) {
    in.push_back({.type = tensor.type, .dims = tensor.dims, .data = tensor.data.get()});
  }
  for (const HostTensor& tensor : apart) out.push_back({.type = tensor.type, .dims = tensor.dims});
  sized.nodes[0].version = 1;
  KernelSite site{.graph = sized, .id = graph::NodeId(0), .inputs = in, .outputs = out};
  const auto kernel = PrepareKernel(site);
  ASSERT_TRUE(kernel.ok()) << kernel.error().Text();
  HostTensor result = *AllocateOnHeap(DataType::kFloat32, {1, 1, 32});
  std::vector<std::byte> workspace(static_cast<size_t>((*kernel)->workspace().value()) + 64);
  void* aligned =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
  std::vector<const void*> reads;
  for (const HostTensor& tensor : inputs) reads.push_back(tensor.data.get());
  const std::vector<void*> writes{result.data.get(), inputs[3].data.get(), inputs[4].data.get()};
  ASSERT_TRUE((*kernel)->Run({.inputs = reads, .outputs = writes, .workspace = aligned}).ok());
  EXPECT_EQ(ElementsOf<float>(result), ElementsOf<float>(apart[0]));
  const auto present = ElementsOf<float>(apart[1]);
  const auto own = ElementsOf<float>(inputs[3]);
  for (size_t head = 0; head < 2; ++head) {
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(own[head * 48 + i], present[head * 48 + i]);
  }
}

TEST(GroupQueryAttentionTest, ACacheThatIsFullIsNamed) {
  const CachedStep step{.capacity = 3, .before = 5};
  EXPECT_THAT(WhyNot(step.Node(), step.Inputs()), HasSubstr("where the cache has 3"));
}

TEST(DynamicQuantizeLstmTest, WeightsThatBytesHoldExactlyAreThoseOfAnLstm) {
  const int64_t steps = 4, batch = 2, features = 3, hidden = 5;
  std::mt19937 random(1);
  std::vector<int8_t> w(static_cast<size_t>(features * 4 * hidden));
  std::vector<int8_t> r(static_cast<size_t>(hidden * 4 * hidden));
  for (auto* weights : {&w, &r}) {
    for (int8_t& element : *weights) element = static_cast<int8_t>(random() % 200) - 100;
  }
  const auto turned = [&](const std::vector<int8_t>& weights, int64_t depth) {
    std::vector<float> floats(weights.size());
    for (int64_t d = 0; d < depth; ++d) {
      for (int64_t c = 0; c < 4 * hidden; ++c) {
        floats[static_cast<size_t>(c * depth + d)] =
            0.01F * weights[static_cast<size_t>(d * 4 * hidden + c)];
      }
    }
    return floats;
  };
  const auto x = Numbers<float>({steps, batch, features}, Drawn(24, 9));
  const auto quantized =
      Made(Node("DynamicQuantizeLSTM", {{"hidden_size", hidden}}, 3),
           {x, Numbers<int8_t>({1, features, 4 * hidden}, w),
            Numbers<int8_t>({1, hidden, 4 * hidden}, r), HostTensor(), HostTensor(), HostTensor(),
            HostTensor(), HostTensor(), Numbers<float>({1}, {0.01F}), Numbers<int8_t>({1}, {0}),
            Numbers<float>({1}, {0.01F}), Numbers<int8_t>({1}, {0})});
  const OneNode plain{"LSTM", {{"hidden_size", hidden}}, 3, "", 14};
  const auto exact = Made(plain, {x, Numbers<float>({1, 4 * hidden, features}, turned(w, features)),
                                  Numbers<float>({1, 4 * hidden, hidden}, turned(r, hidden))});
  for (size_t output = 0; output < 3; ++output) {
    const auto got = ElementsOf<float>(quantized[output]);
    const auto expected = ElementsOf<float>(exact[output]);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 0.02);
  }
}

TEST(InverseTest, AMatrixWithoutOneIsNamed) {
  EXPECT_THAT(WhyNot(Node("Inverse", {}), {Numbers<float>({2, 2}, {1, 2, 2, 4})}),
              HasSubstr("no inverse"));
}

}  // namespace contributed_kernels_test
}  // namespace plimsoll::kernels::cpu
