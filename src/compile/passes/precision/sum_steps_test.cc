#include "compile/passes/precision/sum_steps.h"

#include "compile/passes/fuse/fuse_products.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/pass_results_for_tests.h"

namespace plimsoll::compile {
namespace sum_steps_test {

using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::Shape;
using graph::ValueId;

constexpr int64_t kWidth = 16;

const Node* Find(const Graph& graph, const std::string& op) {
  for (const Node& node : graph.nodes) {
    if (node.op == op) return &node;
  }
  return nullptr;
}

struct ProductModel {
  bool rounds = true;
  std::string right = "constant";  // or fed, bytes, turned bytes
  Shape left = {2, 3, kWidth};
  std::vector<int64_t> bias = {};  // none where empty
  bool open = false;               // of the left side, in the file

  Graph Make() const {
    GraphBuilder b;
    const ValueId x = b.Input("x", FloatTensor(left));
    ValueId made = b.Node("MatMul", {x, Right(b)});
    if (!bias.empty()) made = b.Node("Add", {made, Weights(b, "bias", bias)});
    b.Output(made);
    if (rounds) b.Output(b.Nodes("DynamicQuantizeLinear", {made}, 3)[0]);
    Graph graph = Inferred(b);
    if (open) {
      Shape declared = left;
      declared[0] = Dim::Symbol("n");
      graph[x].declared = graph::ValueType::Tensor(graph::DataType::kFloat32, declared);
    }
    TakeSumSteps(graph);
    return graph;
  }

  ValueId Right(GraphBuilder& b) const {
    if (right == "fed") return b.Input("w", FloatTensor({kWidth, kWidth}));
    const ValueId weights = Weights(b, "w", {kWidth, kWidth});
    if (right == "constant") return b.Node("Transpose", {weights});
    const ValueId scale = Scalar(b, "scale", 0.1F);
    const ValueId bytes = b.Node("QuantizeLinear", {weights, scale});
    const ValueId floats = b.Node("DequantizeLinear", {bytes, scale});
    return right == "bytes" ? floats : b.Node("Transpose", {floats});
  }

  int64_t Steps() const { return Find(Make(), "MatMul")->attributes.Int("sum_steps", 0); }
  int64_t BiasLast() const { return Find(Make(), "MatMul")->attributes.Int("bias_last", 0); }
};

TEST(SumStepsTest, ProductsHaveThemWhereFloatsAreRoundedToIntegers) {
  EXPECT_EQ((ProductModel{.rounds = false}.Steps()), 0);
  EXPECT_EQ(ProductModel{}.Steps(), 1);
  EXPECT_EQ((ProductModel{.right = "fed"}.Steps()), 2);
  EXPECT_EQ((ProductModel{.right = "bytes"}.Steps()), 2);
  EXPECT_EQ((ProductModel{.right = "turned bytes"}.Steps()), 2);
}

TEST(SumStepsTest, ABiasComesFirstWhereOnnxRuntimeMakesAGemm) {
  const Shape rows = {3, kWidth};
  EXPECT_EQ((ProductModel{.bias = {kWidth}}.BiasLast()), 0);
  EXPECT_EQ((ProductModel{.bias = {kWidth}, .open = true}.BiasLast()), 1);
  EXPECT_EQ((ProductModel{.bias = {1, kWidth}}.BiasLast()), 1);
  EXPECT_EQ((ProductModel{.bias = {1}}.BiasLast()), 1);
  EXPECT_EQ((ProductModel{.left = rows, .bias = {kWidth}, .open = true}.BiasLast()), 0);
  EXPECT_EQ((ProductModel{.left = rows, .bias = {1, kWidth}}.BiasLast()), 0);
  EXPECT_EQ((ProductModel{.left = rows, .bias = {3, kWidth}}.BiasLast()), 0);
  EXPECT_EQ((ProductModel{.left = rows, .bias = {1}}.BiasLast()), 1);
  EXPECT_EQ((ProductModel{.left = rows, .bias = {1, 1, kWidth}}.BiasLast()), 1);
}

// The product keeps both when it takes the bias in, and takes no residual, which would come before.
TEST(SumStepsTest, AFusedProductKeepsThem) {
  Graph graph = ProductModel{.bias = {kWidth}, .open = true}.Make();
  EXPECT_EQ(FuseProducts(graph).effects(), 1);
  const Node* const fused = Find(graph, "FusedMatMul");
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->inputs.size(), 3);
  EXPECT_EQ(fused->attributes.Int("sum_steps", 0), 1);
  EXPECT_EQ(fused->attributes.Int("bias_last", 0), 1);
}

TEST(SumStepsTest, ASumOfTwoTensorsStaysBehindTheProduct) {
  for (const bool rounds : {false, true}) {
    GraphBuilder b;
    const ValueId x = b.Input("x", FloatTensor({3, kWidth}));
    const ValueId product = b.Node("MatMul", {x, Weights(b, "w", {kWidth, kWidth})});
    const ValueId sum = b.Node("Add", {product, x});
    b.Output(sum);
    if (rounds) b.Output(b.Nodes("DynamicQuantizeLinear", {sum}, 3)[0]);
    Graph graph = Inferred(b);
    TakeSumSteps(graph);
    EXPECT_EQ(FuseProducts(graph).effects() == 0, rounds);
  }
}

}  // namespace sum_steps_test
}  // namespace plimsoll::compile
