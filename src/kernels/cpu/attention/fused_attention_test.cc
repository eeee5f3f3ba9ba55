#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/attention/attention_rows.h"
#include "kernels/cpu/one_node.h"
#include "kernels/kernel_table.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace fused_attention_test {

using graph::Attribute;
using testing::FloatNear;
using testing::Pointwise;

struct Sizes {
  int64_t batch, heads, key_heads, queries, keys, width, value_width;
};

// An operand with a place for every (batch, head, row, column).
struct Operand {
  int64_t batch, heads, rows, width;
  std::vector<float> elements;  // [batch, heads, rows, width]

  Operand(int64_t b, int64_t h, int64_t r, int64_t w, int seed)
      : batch(b), heads(h), rows(r), width(w) {
    for (int64_t i = 0; i < b * h * r * w; ++i) {
      elements.push_back(std::sin(static_cast<float>(i * (seed + 3)) * 0.37f));
    }
  }
  float At(int64_t b, int64_t h, int64_t r, int64_t w) const {
    return elements[static_cast<size_t>(((b * heads + h) * rows + r) * width + w)];
  }
  HostTensor HeadsFirst() const { return Numbers<float>({batch, heads, rows, width}, elements); }
  HostTensor RowsFirst() const {
    std::vector<float> moved;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t w = 0; w < width; ++w) moved.push_back(At(b, h, r, w));
    return Numbers<float>({batch, rows, heads * width}, moved);
  }
  HostTensor Transposed() const {
    std::vector<float> moved;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t w = 0; w < width; ++w)
          for (int64_t r = 0; r < rows; ++r) moved.push_back(At(b, h, r, w));
    return Numbers<float>({batch, heads, width, rows}, moved);
  }
};

// softmax(Q K^T / sqrt(width) + mask) V by the definition, [batch, heads, queries, value_width].
std::vector<float> Expected(const Sizes& s, const Operand& q, const Operand& k, const Operand& v,
                            bool causal, const std::vector<float>& mask) {
  std::vector<float> y;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      const int64_t kh = h / (s.heads / s.key_heads);
      for (int64_t i = 0; i < s.queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          double score = 0;
          for (int64_t d = 0; d < s.width; ++d) score += q.At(b, h, i, d) * k.At(b, kh, j, d);
          score /= std::sqrt(static_cast<double>(s.width));
          if (!mask.empty()) score += mask[static_cast<size_t>(i * s.keys + j)];
          const bool hidden = causal && j > s.keys - s.queries + i;
          weights.push_back(hidden ? 0 : std::exp(score));
          sum += weights.back();
        }
        for (int64_t d = 0; d < s.value_width; ++d) {
          double total = 0;
          for (int64_t j = 0; j < s.keys; ++j) total += weights[j] / sum * v.At(b, kh, j, d);
          y.push_back(static_cast<float>(total));
        }
      }
    }
  }
  return y;
}

// Many queries and few, whole panels and parts of them, heads shared and not.
class FusedAttentionTest : public testing::TestWithParam<Sizes> {
 protected:
  const Sizes s_ = GetParam();
  const Operand q_{s_.batch, s_.heads, s_.queries, s_.width, 1};
  const Operand k_{s_.batch, s_.key_heads, s_.keys, s_.width, 2};
  const Operand v_{s_.batch, s_.key_heads, s_.keys, s_.value_width, 3};

  static std::vector<float> Run(std::vector<std::pair<std::string, Attribute>> attributes,
                                const std::vector<HostTensor>& inputs) {
    const OneNode node{.op = "FusedAttention",
                       .attributes = std::move(attributes),
                       .outputs = 1,
                       .domain = "plimsoll",
                       .version = 1};
    const auto made = node.Run(inputs);
    if (!made.ok()) {
      ADD_FAILURE() << made.error().Text();
      return {};
    }
    return ElementsOf<float>((*made)[0]);
  }
};

TEST_P(FusedAttentionTest, AgreesWithTheDefinition) {
  EXPECT_THAT(Run({}, {q_.HeadsFirst(), k_.HeadsFirst(), v_.HeadsFirst()}),
              Pointwise(FloatNear(1e-5f), Expected(s_, q_, k_, v_, false, {})));
  EXPECT_THAT(
      Run({{"k_transposed", int64_t{1}}}, {q_.HeadsFirst(), k_.Transposed(), v_.HeadsFirst()}),
      Pointwise(FloatNear(1e-5f), Expected(s_, q_, k_, v_, false, {})));
}

TEST_P(FusedAttentionTest, GivesTheSameBitsWithAnyNumberOfThreads) {
  const auto run = [&](int threads) {
    const ThreadScope scope(threads);
    return Run({{"causal", int64_t{1}}}, {q_.HeadsFirst(), k_.HeadsFirst(), v_.HeadsFirst()});
  };
  const std::vector<float> alone = run(1);
  for (const int threads : {2, 3, 4, 5, 16}) EXPECT_EQ(run(threads), alone) << threads;
}

TEST_P(FusedAttentionTest, HidesWhatComesLater) {
  EXPECT_THAT(Run({{"causal", int64_t{1}}}, {q_.HeadsFirst(), k_.HeadsFirst(), v_.HeadsFirst()}),
              Pointwise(FloatNear(1e-5f), Expected(s_, q_, k_, v_, true, {})));
}

TEST_P(FusedAttentionTest, AddsAMask) {
  std::vector<float> mask;
  for (int64_t i = 0; i < s_.queries * s_.keys; ++i) mask.push_back(i % 3 == 1 ? -1e30f : 0.1f);
  mask[0] = 0;
  EXPECT_THAT(Run({}, {q_.HeadsFirst(), k_.HeadsFirst(), v_.HeadsFirst(),
                       Numbers<float>({1, 1, s_.queries, s_.keys}, mask)}),
              Pointwise(FloatNear(1e-5f), Expected(s_, q_, k_, v_, false, mask)));
}

TEST_P(FusedAttentionTest, ReadsAndWritesHeadsWithinRows) {
  const std::vector<std::pair<std::string, Attribute>> attributes = {
      {"q_layout", std::string("bshd")}, {"num_heads", s_.heads}, {"kv_num_heads", s_.key_heads}};
  Operand expected(s_.batch, s_.heads, s_.queries, s_.value_width, 0);
  expected.elements = Expected(s_, q_, k_, v_, false, {});
  EXPECT_THAT(Run(attributes, {q_.RowsFirst(), k_.RowsFirst(), v_.RowsFirst()}),
              Pointwise(FloatNear(1e-5f), ElementsOf<float>(expected.RowsFirst())));
}

INSTANTIATE_TEST_SUITE_P(Sizes, FusedAttentionTest,
                         testing::Values(Sizes{1, 2, 2, 64, 70, 16, 16},
                                         Sizes{2, 4, 2, 13, 17, 5, 19},
                                         Sizes{1, 2, 1, 1, 33, 8, 24}, Sizes{1, 1, 1, 1, 1, 1, 1},
                                         Sizes{1, 6, 6, 130, 140, 8, 8},
                                         Sizes{1, 1, 1, 400, 410, 8, 8},
                                         Sizes{1, 3, 3, 200, 200, 4, 4}));

// One token over a cache: heads that read the same keys are worth threads of their own.
TEST(AttentionWayTest, QueryHeadsOfOneKeyHeadAreSharedOut) {
  const ThreadScope threads(16);
  AttentionShape shape{.batch = 1,
                       .query_heads = 8,
                       .heads = 2,
                       .queries = 1,
                       .keys = 4096,
                       .width = 64,
                       .value_width = 64};
  EXPECT_TRUE(FloatAttentionWay(shape, MiB(1)).row_by_row);
  EXPECT_EQ(FloatAttentionWay(shape, MiB(1)).slots, 8);
  EXPECT_EQ(FloatAttentionWay(shape, KiB(48)).slots, 3) << "scratch keeps to what is welcome";
  shape.keys = 16;
  EXPECT_EQ(FloatAttentionWay(shape, MiB(1)).slots, 2) << "too little work";
}

// Where panels of a few keys are all there is room for, parts of one head's queries are shared out.
TEST(AttentionWayTest, BlocksOfQueriesAreSharedOut) {
  const ThreadScope threads(16);
  const AttentionShape shape{.batch = 1,
                             .query_heads = 1,
                             .heads = 1,
                             .queries = 512,
                             .keys = 2048,
                             .width = 64,
                             .value_width = 64};
  const AttentionWay way = FloatAttentionWay(shape, KiB(1000));
  EXPECT_GT(way.piece_rows, 0);
  EXPECT_EQ(way.slots, 2) << "as many as there is room for";
}

TEST(FusedAttentionMemoryTest, NeverKeepsTheWholeScoreMatrix) {
  const Dims dims = {1, 1, 4096, 64};
  const HostTensor operand = *AllocateOnHeap(graph::DataType::kFloat32, dims);
  const OneNode node{
      .op = "FusedAttention", .attributes = {}, .outputs = 1, .domain = "plimsoll", .version = 1};
  const graph::Graph graph = node.Build({operand, operand, operand});
  const TensorInfo info{.type = graph::DataType::kFloat32, .dims = dims};
  KernelSite site{
      .graph = graph, .id = graph::NodeId(0), .inputs = {info, info, info}, .outputs = {info}};
  const int64_t scores = 4096 * 4096 * 4;
  const int64_t packed = 2 * 4096 * 64 * 4;  // keys and values
  for (const int threads : {1, 2, 16}) {
    const ThreadScope scope(threads);
    const auto kernel = PrepareKernel(site);
    ASSERT_TRUE(kernel.ok());
    EXPECT_LT((*kernel)->workspace().value(), packed + threads * scores / 256)
        << threads << " threads";
  }
}

}  // namespace fused_attention_test
}  // namespace plimsoll::kernels::cpu
