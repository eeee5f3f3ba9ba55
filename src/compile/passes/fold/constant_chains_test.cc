#include "compile/passes/fold/constant_chains.h"

#include "compile/graph_for_tests.h"
#include "compile/passes/fold/fold_constants.h"

namespace plimsoll::compile {
namespace constant_chains_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// A table of `rows` filters worked out from two rows of numbers; `work` makes it from their sum.
template <typename Work>
std::string LeftOfTable(int64_t rows, const Work& work) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1024, 8}));
  const std::vector<float> ones(static_cast<size_t>(rows), 1);
  const ValueId tall = builder.Float32s("tall", {rows, 1}, ones);
  const ValueId wide = builder.Float32s("wide", {1, 1024}, std::vector<float>(1024, 1));
  builder.Output(builder.Node("MatMul", {work(builder, builder.Node("Add", {tall, wide})), x}));
  Graph graph = Inferred(builder);
  FoldConstants(graph);
  return OperatorsOf(graph);
}

TEST(ConstantChainsTest, ALongChainThatGrowsBecomesAConstantAndAShortOneDoesNot) {
  const auto sine = [](GraphBuilder& builder, ValueId sum) { return builder.Node("Sin", {sum}); };
  const auto window = [&](GraphBuilder& builder, ValueId sum) {
    return builder.Node("Mul", {sine(builder, sum), builder.Node("Cos", {sum})});
  };
  EXPECT_EQ(LeftOfTable(512, window), "MatMul");
  EXPECT_EQ(LeftOfTable(512, sine), "Add Sin MatMul") << "two nodes are soon done";
  EXPECT_EQ(LeftOfTable(2048, window), "Add Sin Cos Mul MatMul") << "more than a model may grow";
}

TEST(ConstantChainsTest, AFewNodesThatDoNotGoElementByElementBecomeAConstant) {
  const auto picked = [](GraphBuilder& builder, ValueId sum) {
    const ValueId rows = builder.Int64s("rows", std::vector<int64_t>(512, 3));
    return builder.Node("Sin", {builder.Node("Gather", {sum, rows})});
  };
  EXPECT_EQ(LeftOfTable(512, picked), "MatMul");
}

TEST(ConstantChainsTest, AChainThatEndsSmallBecomesAConstant) {
  const auto sum = [](GraphBuilder& builder, ValueId table) {
    return builder.Node("ReduceSum", {table, builder.Int64s("axis", {0})});
  };
  EXPECT_EQ(LeftOfTable(512, sum), "MatMul");
}

}  // namespace constant_chains_test
}  // namespace plimsoll::compile
