#include <gtest/gtest.h>

#include <cmath>

#include "engine/session_for_tests.h"

// Graphs over halves, whose nodes work on float32 or stay halves for every set of shapes.
namespace plimsoll::engine {
namespace halves_test {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kWidth = 64;

ValueId To(GraphBuilder& builder, ValueId value, DataType type) {
  return builder.Node("Cast", {value}, With("to", static_cast<int64_t>(type)));
}

// exp(x) * softmax(x), in halves: [rows,64].
Graph Elementwise() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("rows"), kWidth}));
  const ValueId half = To(builder, x, DataType::kFloat16);
  const ValueId left = builder.Node("Exp", {half});
  const ValueId right = builder.Node("Softmax", {half}, With("axis", int64_t{1}));
  builder.Output(To(builder, builder.Node("Mul", {left, right}), DataType::kFloat32));
  return builder.Build();
}

// x w, w in halves.
Graph Product() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("rows"), kWidth}));
  const ValueId w =
      builder.Float32s("w", {kWidth, kWidth}, ElementsOf(Random({kWidth, kWidth}, 11)));
  const ValueId made = builder.Node(
      "MatMul", {To(builder, x, DataType::kFloat16), To(builder, w, DataType::kFloat16)});
  builder.Output(To(builder, made, DataType::kFloat32));
  return builder.Build();
}

std::vector<double> ElementwiseOf(const std::vector<float>& x) {
  std::vector<double> out;
  for (size_t row = 0; row < x.size(); row += kWidth) {
    double total = 0;
    for (size_t i = row; i < row + kWidth; ++i) total += std::exp(x[i]);
    for (size_t i = row; i < row + kWidth; ++i) out.push_back(std::exp(2.0 * x[i]) / total);
  }
  return out;
}

std::vector<double> ProductOf(const std::vector<float>& x) {
  const std::vector<float> w = ElementsOf(Random({kWidth, kWidth}, 11));
  std::vector<double> out;
  for (size_t row = 0; row < x.size(); row += kWidth) {
    for (size_t j = 0; j < kWidth; ++j) {
      double sum = 0;
      for (size_t k = 0; k < kWidth; ++k) sum += double{x[row + k]} * w[k * kWidth + j];
      out.push_back(sum);
    }
  }
  return out;
}

TEST(HalvesTest, EverySetOfShapesGivesTheRightResults) {
  struct Case {
    Graph (*make)();
    std::vector<double> (*expected)(const std::vector<float>& x);
  };
  for (const auto& [make, expected_of] :
       {Case{Elementwise, ElementwiseOf}, Case{Product, ProductOf}}) {
    const auto session = MakeSession();
    const GraphId id = MustAdd(*session, make());
    for (const int64_t rows : {256, 1, 40, 256}) {
      const HostTensor x = Random({rows, kWidth}, static_cast<uint32_t>(rows));
      const std::vector<float> got = ElementsOf(MustRun(*session, id, {x})[0]);
      const std::vector<double> expected = expected_of(ElementsOf(x));
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], 4e-3 * (1 + std::abs(expected[i]))) << rows << ": " << i;
      }
    }
  }
}

// Nodes over halves keep to plain lives here, and float32 between them would not.
TEST(HalvesTest, TheFirstShapesDecideForAll) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Elementwise());
  MustRun(*session, id, {Random({256, kWidth}, 1)});
  const Bytes one = session->Memory(id)->planned_peak;
  EXPECT_LE(one, Bytes(3 * 256 * kWidth * 2));
  MustRun(*session, id, {Random({512, kWidth}, 1)});
  EXPECT_LE(session->Memory(id)->planned_peak, Bytes(3 * 512 * kWidth * 2));
}

}  // namespace halves_test
}  // namespace plimsoll::engine
