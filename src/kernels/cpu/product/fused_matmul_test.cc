#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/prepared_node_for_tests.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace fused_matmul_test {

using testing::FloatNear;
using testing::Pointwise;
using Floats = std::vector<float>;

struct ProductCase {
  int64_t batch, rows, depth, columns;
  bool transpose_a, transpose_b, shared_b;
};

OneNode Product(const ProductCase& one, std::string activation = "") {
  return {.op = "FusedMatMul",
          .attributes = {{"transA", int64_t{one.transpose_a}},
                         {"transB", int64_t{one.transpose_b}},
                         {"alpha", 0.5},
                         {"activation", std::move(activation)}},
          .outputs = 1,
          .domain = "plimsoll",
          .version = 1};
}

HostTensor Matrix(const ProductCase& one, int64_t rows, int64_t columns, bool transposed,
                  bool shared, int seed) {
  Dims dims = transposed ? Dims{columns, rows} : Dims{rows, columns};
  if (!shared) dims.insert(dims.begin(), one.batch);
  return Wavy(dims, seed);
}

// 0.5 * A x B + bias + residual, by the definition.
Floats Expected(const ProductCase& one, const HostTensor& a, const HostTensor& b,
                const HostTensor& bias, const HostTensor& residual) {
  const Floats left = ElementsOf<float>(a);
  const Floats right = ElementsOf<float>(b);
  const Floats columns = ElementsOf<float>(bias);
  const Floats others = ElementsOf<float>(residual);
  Floats made;
  for (int64_t m = 0; m < one.batch; ++m) {
    for (int64_t r = 0; r < one.rows; ++r) {
      for (int64_t c = 0; c < one.columns; ++c) {
        double sum = 0;
        for (int64_t d = 0; d < one.depth; ++d) {
          const int64_t at_a =
              m * one.rows * one.depth + (one.transpose_a ? d * one.rows + r : r * one.depth + d);
          const int64_t at_b = (one.shared_b ? 0 : m * one.depth * one.columns) +
                               (one.transpose_b ? c * one.depth + d : d * one.columns + c);
          sum += static_cast<double>(left[static_cast<size_t>(at_a)]) *
                 static_cast<double>(right[static_cast<size_t>(at_b)]);
        }
        sum = 0.5 * sum + static_cast<double>(columns[static_cast<size_t>(c)]);
        made.push_back(static_cast<float>(sum) + others[made.size()]);
      }
    }
  }
  return made;
}

// Wants nothing packed.
class UnwantedWeights final : public PackedWeights {
 public:
  bool Wants(const void*, Bytes, Bytes, Bytes) const override { return false; }
  Result<const void*> Pack(const void*, Bytes, std::string_view, Bytes, const Fill&) override {
    ADD_FAILURE() << "it was packed all the same";
    return static_cast<const void*>(this);
  }
  void Forget(const void*, Bytes) override {}
};

TEST(FusedMatMulTest, AMatrixThatIsPackedInEachRunTakesASliceOfPanels) {
  const ProductCase one{1, 20, 3000, 2000, false, false, true};
  const HostTensor a = Wavy({1, 20, 3000});
  const HostTensor b = Wavy({3000, 2000});
  const auto prepared = Prepare(Product(one), {a, b});
  ASSERT_TRUE(prepared.ok());
  EXPECT_LE(prepared->kernel->workspace(), MiB(1));
}

TEST(FusedMatMulTest, EveryWayThroughTheProductGivesTheSameNumbers) {
  const ProductCase cases[] = {
      {1, 37, 50, 70, false, false, true},   {2, 13, 400, 33, false, false, false},
      {3, 20, 24, 40, false, true, false},   {3, 20, 24, 40, true, false, false},
      {2, 20, 24, 16, true, true, false},    {4, 9, 31, 19, false, false, true},
      {1, 1, 64, 200, false, false, true},   {2, 3, 64, 45, false, false, false},
      {2, 2, 64, 45, false, true, false},    {1, 1, 1, 1, false, false, true},
      {2, 5, 0, 7, false, false, false},     {1, 300, 500, 17, false, false, true},
      {3, 10, 700, 430, false, false, true}, {2, 11, 1000, 300, false, true, false},
  };
  for (const ProductCase& one : cases) {
    const HostTensor a = Matrix(one, one.rows, one.depth, one.transpose_a, false, 1);
    const HostTensor b = Matrix(one, one.depth, one.columns, one.transpose_b, one.shared_b, 2);
    const HostTensor bias = Wavy({one.columns}, 3);
    const HostTensor residual = Wavy({one.batch, one.rows, one.columns}, 4);
    const Floats expected = Expected(one, a, b, bias, residual);
    HeapPackedWeights packing;
    UnwantedWeights plain;
    struct Way {
      bool constant;
      PackedWeights& weights;
    };
    for (const auto& [constant, weights] :
         {Way{false, packing}, Way{true, packing}, Way{true, plain}}) {
      const auto prepared = Prepare(Product(one), {a, b, bias, residual},
                                    constant ? std::set<size_t>{1} : std::set<size_t>{}, &weights);
      ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
      const auto made = prepared->Run();
      ASSERT_TRUE(made.ok()) << made.error().Text();
      EXPECT_THAT(*made, Pointwise(FloatNear(1e-4f), expected))
          << one.batch << " of " << one.rows << "x" << one.depth << "x" << one.columns
          << (constant ? " packed" : "");
    }
    const auto prepared = Prepare(Product(one), {a, b, bias, residual});
    EXPECT_THAT(*prepared->Run(/*over=*/3), Pointwise(FloatNear(1e-4f), expected)) << "in place";
  }
}

// Matrices that are each too small for two threads are shared out whole: the same bits, and a piece
// of panels for each thread, as far as there is room.
TEST(FusedMatMulTest, ManySmallMatricesAreSharedOut) {
  const ProductCase one{61, 20, 24, 40, false, true, false};
  const HostTensor a = Matrix(one, one.rows, one.depth, one.transpose_a, false, 1);
  const HostTensor b = Matrix(one, one.depth, one.columns, one.transpose_b, one.shared_b, 2);
  const HostTensor bias = Wavy({one.columns}, 3);
  const HostTensor residual = Wavy({one.batch, one.rows, one.columns}, 4);
  const auto alone = [&] {
    const ThreadScope scope(1);
    return Prepare(Product(one), {a, b, bias, residual});
  }();
  const ThreadScope scope(3);
  const auto prepared = Prepare(Product(one), {a, b, bias, residual});
  ASSERT_TRUE(alone.ok() && prepared.ok());
  EXPECT_EQ(prepared->kernel->workspace(), alone->kernel->workspace() * 3);
  EXPECT_EQ(*prepared->Run(), *alone->Run());
  EXPECT_THAT(*prepared->Run(), Pointwise(FloatNear(1e-4f), Expected(one, a, b, bias, residual)));
}

// Rows [first, first + rows) and columns of a matrix.
HostTensor PartOf(const HostTensor& whole, bool transposed, int64_t first_row, int64_t rows,
                  int64_t first_column, int64_t columns) {
  const Floats elements = ElementsOf<float>(whole);
  const int64_t stride = whole.dims[1];
  Floats part;
  const int64_t down = transposed ? columns : rows;
  const int64_t across = transposed ? rows : columns;
  for (int64_t i = 0; i < down; ++i) {
    for (int64_t j = 0; j < across; ++j) {
      const int64_t row = i + (transposed ? first_column : first_row);
      part.push_back(elements[static_cast<size_t>(row * stride + j +
                                                  (transposed ? first_row : first_column))]);
    }
  }
  return Numbers<float>({down, across}, part);
}

TEST(FusedMatMulTest, APartOfTheRightMatrixIsReadWhereItLies) {
  struct PartCase {
    int64_t rows, all_depth, all_columns, first_depth, depth, first_column, columns;
  };
  for (const PartCase& one :
       {PartCase{20, 50, 96, 0, 50, 32, 48}, PartCase{20, 50, 96, 7, 40, 0, 96},
        PartCase{9, 800, 70, 100, 650, 16, 54}, PartCase{2, 64, 64, 32, 32, 16, 16},
        PartCase{1, 64, 64, 8, 32, 48, 9}, PartCase{20, 30, 40, 3, 21, 5, 30}}) {
    for (const bool transposed : {false, true}) {
      const ProductCase product{1, one.rows, one.depth, one.columns, false, transposed, true};
      const HostTensor a = Wavy({1, one.rows, one.depth}, 1);
      const HostTensor b = transposed ? Wavy({one.all_columns, one.all_depth}, 2)
                                      : Wavy({one.all_depth, one.all_columns}, 2);
      const HostTensor bias = Wavy({one.columns}, 3);
      const HostTensor residual = Wavy({1, one.rows, one.columns}, 4);
      const Floats expected =
          Expected(product, a,
                   PartOf(b, transposed, one.first_depth, one.depth, one.first_column, one.columns),
                   bias, residual);
      OneNode node = Product(product);
      node.attributes.emplace_back("first_depth", one.first_depth);
      node.attributes.emplace_back("first_column", one.first_column);
      node.attributes.emplace_back("columns", one.columns);
      HeapPackedWeights packing;
      for (const bool constant : {false, true}) {
        const auto prepared =
            Prepare(node, {a, b, bias, residual},
                    constant ? std::set<size_t>{1} : std::set<size_t>{}, &packing);
        ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
        EXPECT_THAT(*prepared->Run(), Pointwise(FloatNear(1e-4f), expected))
            << one.rows << "x" << one.depth << "x" << one.columns << (constant ? " packed" : "")
            << (transposed ? " transposed" : "");
      }
    }
  }
}

// A matrix rounded to halves, and the same numbers as float32.
template <typename Half>
std::pair<HostTensor, HostTensor> Rounded(const HostTensor& matrix) {
  std::vector<Half> halves;
  Floats floats;
  for (const float element : ElementsOf<float>(matrix)) {
    halves.emplace_back(element);
    floats.push_back(halves.back());
  }
  return {Numbers<Half>(matrix.dims, halves), Numbers<float>(matrix.dims, floats)};
}

template <typename Half>
void ExpectHalvesLikeFloats(OneNode node, const HostTensor& a, const HostTensor& b,
                            const std::string& name) {
  const auto [halves, floats] = Rounded<Half>(b);
  HeapPackedWeights packing;
  const auto wide = Prepare(node, {a, floats}, {1}, &packing);
  ASSERT_TRUE(wide.ok()) << wide.error().Text();
  const Floats expected = *wide->Run();
  for (const bool constant : {false, true}) {
    const auto prepared =
        Prepare(node, {a, halves}, constant ? std::set<size_t>{1} : std::set<size_t>{}, &packing);
    ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
    if (!constant) {
      EXPECT_THAT(*prepared->Run(), Pointwise(FloatNear(1e-4f), expected)) << name;
      continue;
    }
    EXPECT_EQ(*prepared->Run(), expected) << name << " packed";
    EXPECT_LE(prepared->kernel->workspace(), MiB(1)) << name << ": never widened as a whole";
  }
}

TEST(FusedMatMulTest, ARightMatrixOfHalvesIsWidenedPieceByPiece) {
  for (const ProductCase& one : {ProductCase{1, 37, 50, 70, false, false, true},
                                 ProductCase{2, 13, 400, 33, false, false, false},
                                 ProductCase{3, 20, 24, 40, false, true, false},
                                 ProductCase{1, 1, 64, 200, false, false, true},
                                 ProductCase{1, 1, 64, 1, false, false, true},
                                 ProductCase{1, 9, 1000, 700, false, true, true},
                                 ProductCase{1, 2, 3000, 500, false, false, true}}) {
    const HostTensor a = Matrix(one, one.rows, one.depth, one.transpose_a, false, 1);
    const HostTensor b = Matrix(one, one.depth, one.columns, one.transpose_b, one.shared_b, 2);
    const std::string name = StrCat(one.rows, "x", one.depth, "x", one.columns);
    ExpectHalvesLikeFloats<Float16>(Product(one), a, b, name);
    ExpectHalvesLikeFloats<Bfloat16>(Product(one), a, b, name);
    const ThreadScope scope(3);
    ExpectHalvesLikeFloats<Float16>(Product(one), a, b, name + " by threads");
  }
  for (const int64_t first_column : {32, 5}) {
    OneNode node = Product({1, 20, 40, 48, false, false, true});
    node.attributes.emplace_back("first_depth", int64_t{7});
    node.attributes.emplace_back("first_column", first_column);
    node.attributes.emplace_back("columns", int64_t{48});
    ExpectHalvesLikeFloats<Float16>(node, Wavy({1, 20, 40}, 1), Wavy({50, 96}, 2), "a part");
  }
}

// As files have it; transA and transB say nothing of a vector.
TEST(FusedMatMulTest, DoublesAndVectorsAreMultipliedToo) {
  const OneNode node = Product({1, 1, 2, 2, true, true, true});
  const HostTensor vector = Numbers<double>({2}, {1, 10});
  const HostTensor matrix = Numbers<double>({2, 2}, {1, 2, 3, 4});
  const auto product = [&](const HostTensor& a, const HostTensor& b) {
    const auto made = node.Run({a, b});
    EXPECT_TRUE(made.ok()) << made.error().Text();
    return made.ok() ? (*made)[0] : HostTensor();
  };
  EXPECT_EQ(product(vector, matrix).dims, Dims{2});
  EXPECT_EQ(ElementsOf<double>(product(vector, matrix)), (std::vector<double>{10.5, 21.5}));
  EXPECT_EQ(ElementsOf<double>(product(matrix, vector)), (std::vector<double>{15.5, 21}));
  EXPECT_EQ(product(vector, vector).dims, Dims{});
  const HostTensor floats = Numbers<float>({2}, {1, 10});
  EXPECT_EQ(ElementsOf<float>(product(floats, floats)), Floats{50.5F});
}

TEST(FusedMatMulTest, APartThatLeavesTheMatrixIsRefused) {
  const ProductCase shape{1, 2, 3, 4, false, false, true};
  for (const auto& [depth, column, columns] :
       {std::tuple{0, 2, 3}, std::tuple{1, 0, 4}, std::tuple{0, -1, 2}, std::tuple{-1, 0, 2}}) {
    OneNode node = Product(shape);
    node.attributes.emplace_back("first_depth", int64_t{depth});
    node.attributes.emplace_back("first_column", int64_t{column});
    node.attributes.emplace_back("columns", int64_t{columns});
    EXPECT_EQ(Prepare(node, {Wavy({1, 2, 3}), Wavy({3, 4})}).error().code, "kernel.input")
        << depth << " " << column << " " << columns;
  }
}

TEST(FusedMatMulTest, AppliesActivationsToTheWholeSum) {
  struct ActivationCase {
    std::string name;
    double (*function)(double);
  };
  const ActivationCase cases[] = {
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"Gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"GeluTanh",
       [](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {"Swish", [](double x) { return x / (1 + std::exp(-x)); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
  };
  const ProductCase shape{1, 21, 30, 600, false, false, true};
  const HostTensor a = Wavy({1, 21, 30}, 1);
  const HostTensor b = Wavy({30, 600}, 2);
  const HostTensor bias = Wavy({600}, 3);
  const HostTensor residual = Wavy({1, 21, 600}, 4);
  const Floats sums = Expected(shape, a, b, bias, residual);
  for (const ActivationCase& one : cases) {
    Floats expected;
    for (const float sum : sums) expected.push_back(static_cast<float>(one.function(sum)));
    const auto prepared = Prepare(Product(shape, one.name), {a, b, bias, residual});
    ASSERT_TRUE(prepared.ok()) << prepared.error().Text();
    EXPECT_THAT(*prepared->Run(), Pointwise(FloatNear(1e-4f), expected)) << one.name;
  }
}

TEST(FusedMatMulTest, RefusesWhatDoesNotFit) {
  const ProductCase shape{1, 2, 3, 4, false, false, true};
  const HostTensor a = Wavy({1, 2, 3});
  const HostTensor b = Wavy({3, 4});
  EXPECT_EQ(Prepare(Product(shape), {a, b, Wavy({3})}).error().code, "kernel.input");
  EXPECT_EQ(Prepare(Product(shape), {a, b, Wavy({4}), Wavy({2, 4})}).error().code, "kernel.input");
  EXPECT_EQ(Prepare(Product(shape, "Sine"), {a, b}).error().code, "kernel.unsupported");
}

}  // namespace fused_matmul_test
}  // namespace plimsoll::kernels::cpu
