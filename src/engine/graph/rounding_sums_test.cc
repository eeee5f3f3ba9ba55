#include <gtest/gtest.h>

#include <cmath>

#include "engine/session_for_tests.h"

// Products in models that round floats to whole numbers: their sums are added up as ONNX Runtime
// adds them, which plain loops tell here.
namespace plimsoll::engine {
namespace rounding_sums_test {

using compile::FloatTensor;
using graph::Dim;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

struct SumCase {
  int64_t rows, depth, columns;
  bool constant;  // B
  int64_t step;   // 0: four products at once
  bool biased = false;
  bool open = false;  // the file does not tell how many rows there are: no Gemm comes of it

  bool BiasFirst() const { return biased && !open; }
};

// Of the products of A's row with a column of B.
float SumOf(const SumCase& one, const std::vector<float>& a, const std::vector<float>& b,
            float bias) {
  const auto depth = static_cast<size_t>(one.depth);
  const auto stride = static_cast<size_t>(one.columns);
  float total = one.BiasFirst() ? bias : 0;
  const size_t step = one.step > 0 ? static_cast<size_t>(one.step) : 4;
  for (size_t first = 0; first < depth;) {
    const size_t left = depth - first;
    const size_t count = left >= step ? step : one.step > 0 ? left : left >= 2 ? 2 : 1;
    float sum = 0;
    for (size_t d = first; d < first + count; ++d) {
      if (one.step > 0) {
        sum = std::fma(a[d], b[d * stride], sum);
      } else {
        const volatile float product = a[d] * b[d * stride];
        sum += product;
      }
    }
    total += sum;
    first += count;
  }
  return one.biased && one.open ? total + bias : total;
}

std::vector<float> Expected(const SumCase& one, const HostTensor& a, const HostTensor& b,
                            const HostTensor& bias) {
  const std::vector<float> left = ElementsOf(a);
  const std::vector<float> right = ElementsOf(b);
  const std::vector<float> added = ElementsOf(bias);
  std::vector<float> sums;
  for (int64_t row = 0; row < one.rows; ++row) {
    for (int64_t column = 0; column < one.columns; ++column) {
      sums.push_back(SumOf(one, {left.begin() + row * one.depth, left.end()},
                           {right.begin() + column, right.end()},
                           added[static_cast<size_t>(column)]));
    }
  }
  return sums;
}

std::vector<float> Made(const SumCase& one, const HostTensor& a, const HostTensor& b,
                        const HostTensor& bias) {
  GraphBuilder builder;
  const Dim rows = one.open ? Dim::Symbol("rows") : Dim(one.rows);
  const ValueId left = builder.Input("a", FloatTensor({Dim(1), rows, one.depth}));
  const ValueId right = one.constant
                            ? builder.Float32s("b", {one.depth, one.columns}, ElementsOf(b))
                            : builder.Input("b", FloatTensor({one.depth, one.columns}));
  ValueId made = builder.Node("MatMul", {left, right});
  if (one.biased) {
    made = builder.Node("Add", {made, builder.Float32s("bias", {one.columns}, ElementsOf(bias))});
  }
  builder.Output(made);
  builder.Output(builder.Nodes("DynamicQuantizeLinear", {made}, 3)[0]);
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  std::vector<HostTensor> inputs = {a};
  if (!one.constant) inputs.push_back(b);
  return ElementsOf(MustRun(*session, id, inputs)[0]);
}

// Three rows, and one, by themselves: of a B that is constant, and of one that is not, whose steps
// depend on its form.
TEST(RoundingSumsTest, SumsAreAddedUpAsOnnxRuntimeAddsThem) {
  const SumCase cases[] = {
      {3, 500, 40, true, 256},
      {20, 768, 100, true, 256},
      {1, 1000, 40, true, 256},
      {3, 768, 1, true, 256},
      {3, 500, 64, false, 256},
      {20, 768, 768, false, 128},
      {3, 1000, 20, false, 512},
      {3, 1100, 10, false, 1024},
      {1, 500, 64, false, 0},
      {1, 1000, 600, false, 0},
      {1, 1003, 40, false, 0},
      {3, 768, 40, true, 256, true},
      {3, 1000, 40, true, 256, true, true},
      {20, 500, 600, false, 128, true, true},
      {1, 768, 40, false, 0, true},
      {1, 768, 40, false, 0, true, true},
  };
  for (const SumCase& one : cases) {
    const HostTensor a = Random({1, one.rows, one.depth}, 1);
    const HostTensor b = Random({one.depth, one.columns}, 2);
    const HostTensor bias = Random({one.columns}, 3);
    EXPECT_EQ(Made(one, a, b, bias), Expected(one, a, b, bias))
        << one.rows << "x" << one.depth << "x" << one.columns << (one.constant ? " constant" : "")
        << (one.biased ? " biased" : "") << (one.open ? " open" : "");
  }
}

}  // namespace rounding_sums_test
}  // namespace plimsoll::engine
