#include "compile/order/order_certificate.h"

#include <gtest/gtest.h>

#include <random>

#include "compile/graph_for_tests.h"
#include "compile/plan_model.h"

namespace plimsoll::compile {
namespace order_certificate_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;

// Nodes over the last few values; with `joining`, some join values or split them.
Graph RandomGraph(uint32_t seed, int nodes, bool joining) {
  std::mt19937 random(seed);
  GraphBuilder builder;
  std::vector<ValueId> values = {builder.Input("x", FloatTensor({2, 256}))};
  const auto recent = [&] {
    const size_t reach = std::min<size_t>(values.size(), 6);
    return values[values.size() - 1 - random() % reach];
  };
  for (int i = 0; i < nodes; ++i) {
    const uint32_t kind = random() % 8;
    if (joining && kind == 0) {
      const ValueId wide = builder.Node("Concat", {recent(), recent()}, With("axis", int64_t{0}));
      const ValueId mixing = builder.Input("m" + std::to_string(i), FloatTensor({2, 4}));
      values.push_back(builder.Node("MatMul", {mixing, wide}));
    } else if (kind < 5) {
      values.push_back(builder.Node("Add", {recent(), recent()}));
    } else {
      values.push_back(builder.Node(
          "MatMul", {recent(), builder.Input("w" + std::to_string(i), FloatTensor({256, 256}))}));
    }
  }
  builder.Output(values.back());
  return Inferred(builder);
}

PlannedModel MustPlan(const Graph& graph, const PlanOptions& options = {}) {
  return Must(PlanModel(graph, options));
}

Bytes LiveSum(const PlannedModel& model) {
  return model.plan.regions[model.buffers.feature_map.index()].lower_bound;
}

TEST(OrderCertificateTest, NoOrderOfTheSameStoragesIsBelow) {
  int reached = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed, 4 + static_cast<int>(seed % 30), false);
    const PlannedModel searched = MustPlan(graph);
    EXPECT_LE(searched.order_lower_bound, LiveSum(searched)) << "seed " << seed;
    if (searched.order_lower_bound == LiveSum(searched)) ++reached;
    for (const OrderMode mode : {OrderMode::kBreadthFirst, OrderMode::kDepthFirst,
                                 OrderMode::kReverseDepthFirst, OrderMode::kStable}) {
      PlanOptions options;
      options.search_order = false;
      options.order_mode = mode;
      EXPECT_LE(searched.order_lower_bound, LiveSum(MustPlan(graph, options))) << "seed " << seed;
    }
  }
  EXPECT_GT(reached, 40);
}

TEST(OrderCertificateTest, JoinedValuesCountAsThePlanCountsThem) {
  for (uint32_t seed = 100; seed < 160; ++seed) {
    const PlannedModel model = MustPlan(RandomGraph(seed, 4 + static_cast<int>(seed % 30), true));
    EXPECT_LE(model.order_lower_bound, LiveSum(model)) << "seed " << seed;
  }
}

TEST(OrderCertificateTest, NothingIsSaidWhereNodesCarryBodies) {
  GraphBuilder builder;
  const ValueId condition =
      builder.Input("c", graph::ValueType::Tensor(graph::DataType::kBool, graph::Shape{}));
  const ValueId x = builder.Node("Tanh", {builder.Input("x", FloatTensor({2, 256}))});
  const graph::SubgraphId then_body = builder.BeginBody("then");
  builder.EndBody({builder.Node("Neg", {builder.Node("Sigmoid", {x})})});
  const graph::SubgraphId else_body = builder.BeginBody("else");
  builder.EndBody({builder.Node("Abs", {x})});
  graph::Attributes branches = With("then_branch", then_body);
  branches.Set("else_branch", else_body);
  builder.Output(builder.Node("Tanh", {builder.Node("If", {condition}, branches)}));
  EXPECT_EQ(MustPlan(Inferred(builder)).order_lower_bound, Bytes(0));
}

}  // namespace order_certificate_test
}  // namespace plimsoll::compile
