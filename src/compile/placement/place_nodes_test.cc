#include "compile/placement/place_nodes.h"

#include <gtest/gtest.h>

#include <set>

#include "compile/compile_model.h"
#include "compile/graph_for_tests.h"
#include "compile/placement/host_nodes.h"

namespace plimsoll::compile {
namespace place_nodes_test {

using graph::Attributes;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::MemoryAttributes;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;

const ValueType kFloats = FloatTensor({4});
const ValueType kFlag = ValueType::Tensor(DataType::kBool, graph::Shape{});
const ValueType kNumber = ValueType::Tensor(DataType::kInt64, graph::Shape{});

// The CPU's kernels, but for some operators.
class BackendWithout final : public kernels::Backend {
 public:
  explicit BackendWithout(std::set<std::string, std::less<>> missing)
      : missing_(std::move(missing)) {}
  std::string_view name() const override { return "incomplete"; }
  bool HasOperator(std::string_view domain, std::string_view name, int version) const override {
    return !missing_.contains(name) && kernels::HostBackend().HasOperator(domain, name, version);
  }
  Result<kernels::KernelPointer> Prepare(kernels::KernelSite& site) const override {
    return kernels::HostBackend().Prepare(site);
  }

 private:
  std::set<std::string, std::less<>> missing_;
};

const Target kFar = {.backend = &kernels::HostBackend(), .host_reachable = false};

// Negates x, or makes it positive.
ValueId Choose(GraphBuilder& builder, ValueId condition, ValueId x) {
  Attributes bodies;
  const SubgraphId then_branch = builder.BeginBody("then");
  builder.EndBody({builder.Node("Neg", {x})});
  bodies.Set("then_branch", then_branch);
  const SubgraphId else_branch = builder.BeginBody("else");
  builder.EndBody({builder.Node("Abs", {x})});
  bodies.Set("else_branch", else_branch);
  return builder.Node("If", {condition}, std::move(bodies));
}

ValueId IsPositive(GraphBuilder& builder, ValueId x) {
  const ValueId sum = builder.Node("ReduceSum", {x}, With("keepdims", int64_t{0}));
  return builder.Node("Greater", {sum, builder.Float32s("zero", {}, {0})});
}

struct Placed {
  Graph graph;
  HostTransfers transfers;
};

Placed Place(GraphBuilder& builder, const Target& target = kFar,
             const std::vector<VariableUpdate>& updates = {}) {
  Placed placed;
  placed.graph = Inferred(builder);
  PlaceNodes(placed.graph, target, updates);
  placed.transfers = CountHostTransfers(placed.graph, target, updates);
  Must(InferShapes(placed.graph));
  return placed;
}

TEST(PlaceNodesTest, WhereTheHostReachesTheDeviceNothingChanges) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  builder.Output(Choose(builder, IsPositive(builder, x), x));
  const Placed placed = Place(builder, {.backend = &kernels::HostBackend()});
  EXPECT_EQ(OperatorsOf(placed.graph), "ReduceSum Greater If");
  EXPECT_EQ(placed.transfers.fetches + placed.transfers.host_nodes, 0);
}

TEST(PlaceNodesTest, AConditionMadeOnTheDeviceIsFetched) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  builder.Output(Choose(builder, IsPositive(builder, x), x));
  const Placed placed = Place(builder);
  EXPECT_EQ(OperatorsOf(placed.graph), "ReduceSum Greater plimsoll::Transfer If");
  EXPECT_EQ(placed.transfers.fetches, 1);
  EXPECT_EQ(placed.transfers.fetched, Bytes(1));
  EXPECT_EQ(placed.transfers.sends, 0);
  EXPECT_EQ(placed.transfers.host_nodes, 0);
}

TEST(PlaceNodesTest, ArithmeticOverInputsThatOnlyConditionsReadCostsNoTransfer) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  const ValueId n = builder.Input("n", kNumber);
  const ValueId flag = builder.Input("flag", kFlag);
  const ValueId more = builder.Node("Add", {n, builder.Int64("two", 2)});
  const ValueId many = builder.Node("Greater", {more, builder.Int64("five", 5)});
  builder.Output(Choose(builder, builder.Node("And", {many, flag}), x));
  const Placed placed = Place(builder);
  EXPECT_EQ(OperatorsOf(placed.graph), "plimsoll::Transfer Add Greater plimsoll::Transfer And If");
  EXPECT_EQ(placed.transfers.host_nodes, 3);
  EXPECT_EQ(placed.transfers.fetches, 0) << "the caller has inputs on the host";
  EXPECT_EQ(placed.transfers.sends, 0);
}

TEST(PlaceNodesTest, ArithmeticThatTheDeviceReadsTooStaysThere) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  const ValueId n = builder.Input("n", kNumber);
  const ValueId more = builder.Node("Add", {n, builder.Int64("two", 2)});
  const ValueId many = builder.Node("Greater", {more, builder.Int64("five", 5)});
  const ValueId factor = builder.Node("Cast", {more}, With("to", int64_t{1}));
  builder.Output(Choose(builder, many, builder.Node("Mul", {x, factor})));
  const Placed placed = Place(builder);
  EXPECT_EQ(placed.transfers.host_nodes, 0);
  EXPECT_EQ(placed.transfers.fetches, 1);
  EXPECT_EQ(placed.transfers.fetched, Bytes(1)) << "the condition, not the number";
}

TEST(PlaceNodesTest, ArithmeticThatNeedsDataOfTheDeviceStaysThereWithAllThatFeedsIt) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  const ValueId flag = builder.Input("flag", kFlag);
  const ValueId positive = IsPositive(builder, x);
  const ValueId opposite = builder.Node("Not", {flag});
  const ValueId both = builder.Node("And", {opposite, positive});
  builder.Output(Choose(builder, builder.Node("Not", {both}), x));
  const Placed placed = Place(builder);
  EXPECT_EQ(placed.transfers.host_nodes, 0);
  EXPECT_EQ(placed.transfers.fetches, 1);
  EXPECT_EQ(placed.transfers.sends, 0);
}

TEST(PlaceNodesTest, LargeOperandsAndResultsThatLeaveTheModelStayOnTheDevice) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  const ValueId n = builder.Input("n", ValueType::Tensor(DataType::kInt64, graph::Shape{1000}));
  const ValueId flag = builder.Input("flag", kFlag);
  const ValueId sum = builder.Node("ReduceSum", {n}, With("keepdims", int64_t{0}));
  const ValueId many = builder.Node("Greater", {sum, builder.Int64("five", 5)});
  const ValueId opposite = builder.Node("Not", {flag});
  builder.Output(opposite);
  builder.Output(Choose(builder, opposite, x));
  builder.Output(Choose(builder, many, x));
  const Placed placed = Place(builder);
  EXPECT_EQ(placed.transfers.host_nodes, 0);
  EXPECT_EQ(placed.transfers.fetches, 2);
}

TEST(PlaceNodesTest, AVariableLiesOnTheDevice) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  const ValueId steps = builder.Input("steps", kNumber);
  builder.Output(Choose(builder, builder.Node("Greater", {steps, builder.Int64("five", 5)}), x));
  builder.Output(builder.Node("Add", {steps, builder.Int64("one", 1)}));
  const Placed placed = Place(builder, kFar, {{.input = 1, .output = 1}});
  EXPECT_EQ(placed.transfers.host_nodes, 0);
  EXPECT_EQ(placed.transfers.fetches, 1);
}

TEST(PlaceNodesTest, ANodeWithoutAKernelRunsOnTheHostBetweenTransfers) {
  const BackendWithout backend({"Tanh"});
  const Target target{.backend = &backend, .host_reachable = false};
  GraphBuilder builder;
  const ValueId x = builder.Node("Relu", {builder.Input("x", kFloats)});
  const ValueId y = builder.Node("Tanh", {x});
  builder.Output(builder.Node("Add", {builder.Node("Neg", {y}), builder.Node("Abs", {y})}));
  const Placed placed = Place(builder, target);
  EXPECT_EQ(OperatorsOf(placed.graph),
            "Relu plimsoll::Transfer Tanh plimsoll::Transfer Neg Abs Add");
  EXPECT_EQ(placed.transfers.host_nodes, 1);
  EXPECT_EQ(placed.transfers.fetches, 1);
  EXPECT_EQ(placed.transfers.sends, 1) << "both readers read the same";
  EXPECT_EQ(placed.transfers.sent, Bytes(16));
}

TEST(PlaceNodesTest, WhatLeavesTheModelIsOnTheDeviceUnderItsName) {
  const BackendWithout backend({"Tanh"});
  const Target target{.backend = &backend, .host_reachable = false};
  GraphBuilder builder;
  const ValueId y = builder.Node("Tanh", {builder.Input("x", kFloats)});
  builder.graph()[y].name = "y";
  builder.Output(y);
  builder.Output(y);
  const Placed placed = Place(builder, target);
  EXPECT_EQ(OperatorsOf(placed.graph), "plimsoll::Transfer Tanh plimsoll::Transfer");
  for (const ValueId output : placed.graph.root().outputs) {
    EXPECT_EQ(placed.graph[output].name, "y");
  }
  EXPECT_TRUE(IsTransfer(MakerOfOutput(placed.graph)));
}

TEST(PlaceNodesTest, ABodyFetchesWhatItAloneNeeds) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  const ValueId positive = IsPositive(builder, x);
  const ValueId small = builder.Node("Not", {positive});
  Attributes bodies;
  const SubgraphId then_branch = builder.BeginBody("outer then");
  builder.EndBody({Choose(builder, small, x)});
  bodies.Set("then_branch", then_branch);
  const SubgraphId else_branch = builder.BeginBody("outer else");
  builder.EndBody({Choose(builder, positive, x)});
  bodies.Set("else_branch", else_branch);
  builder.Output(builder.Node("If", {positive}, std::move(bodies)));
  const Placed placed = Place(builder);
  EXPECT_EQ(OperatorsOf(placed.graph), "ReduceSum Greater Not plimsoll::Transfer If");
  EXPECT_EQ(OperatorsOf(placed.graph, then_branch), "plimsoll::Transfer If");
  EXPECT_EQ(OperatorsOf(placed.graph, else_branch), "If") << "it is on the host already";
  EXPECT_EQ(placed.transfers.fetches, 2);
}

TEST(PlaceNodesTest, AnAxisThatOnlyARunKnowsIsBroughtToTheHost) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", kFloats);
  const ValueId axis = builder.Input("axis", kNumber);
  builder.Output(builder.Node("CumSum", {x, axis}));
  builder.Output(builder.Node("CumSum", {x, builder.Int64("first", 0)}));
  const Placed placed = Place(builder);
  EXPECT_EQ(OperatorsOf(placed.graph), "plimsoll::Transfer CumSum CumSum");
  const graph::Node& fetch = placed.graph[placed.graph.root().nodes[0]];
  EXPECT_EQ(fetch.inputs[0], axis);
  EXPECT_TRUE(kFar.RunsOnHost(fetch));
}

TEST(PlaceNodesTest, NodesWithSpecialMemoryStayWhereTheyAre) {
  const BackendWithout backend({"Tanh"});
  const Target target{.backend = &backend, .host_reachable = false};
  GraphBuilder builder;
  const ValueId y = builder.Node("Tanh", {builder.Input("x", kFloats)});
  builder.graph()[builder.graph()[y].producer].memory.fixed_address = true;
  builder.Output(y);
  CompileOptions options;
  options.plan.lifetimes.target = target;
  const auto compiled = CompileModel(Inferred(builder), options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, "kernel.unsupported");
  EXPECT_NE(compiled.error().Text().find("incomplete"), std::string::npos);
}

TEST(PlaceNodesTest, ANodeThatAsksForMemoryOfTheHostRunsThere) {
  GraphBuilder builder;
  const ValueId y = builder.Node("Tanh", {builder.Node("Relu", {builder.Input("x", kFloats)})});
  builder.graph()[builder.graph()[y].producer].memory.memory_type = MemoryAttributes::Type::kHost;
  builder.Output(builder.Node("Neg", {y}));
  const Placed placed = Place(builder);
  EXPECT_EQ(OperatorsOf(placed.graph), "Relu plimsoll::Transfer Tanh plimsoll::Transfer Neg");
}

TEST(PlaceNodesTest, HostMemoryIsARegionOfItsOwnWithItsOwnPeak) {
  const BackendWithout backend({"Tanh", "Softmax"});
  GraphBuilder builder;
  ValueId x = builder.Input("x", FloatTensor({64, 64}));
  for (int i = 0; i < 4; ++i) {
    x = builder.Node("Relu", {builder.Node("Softmax", {builder.Node("Tanh", {x})})});
  }
  builder.Output(x);
  CompileOptions options;
  options.plan.lifetimes.target = {.backend = &backend, .host_reachable = false};
  const CompiledModel model = Must(CompileModel(Inferred(builder), options));
  Bytes host;
  for (size_t i = 0; i < model.planned.plan.regions.size(); ++i) {
    const bool of_host =
        model.planned.buffers.problem.regions[i].memory_type == plan::MemoryType::kHost;
    if (of_host) host += model.planned.plan.regions[i].size;
  }
  EXPECT_GE(host, Bytes(2 * 64 * 64 * 4)) << "what Softmax reads and makes";
  EXPECT_LE(host, Bytes(3 * 64 * 64 * 4)) << "shared by all eight";
  EXPECT_EQ(model.transfers.host_nodes, 8);
  EXPECT_EQ(model.transfers.fetches, 3) << "the first reads an input";
  EXPECT_EQ(model.transfers.sends, 4);
}

TEST(PlaceNodesTest, NothingIsFusedIntoOperatorsThatTheBackendLacks) {
  const BackendWithout backend({"FusedMatMul"});
  GraphBuilder builder;
  const ValueId w = builder.Float32s("w", {4, 4}, std::vector<float>(16, 0.5F));
  const ValueId x = builder.Input("x", FloatTensor({2, 4}));
  builder.Output(builder.Node("Relu", {builder.Node("MatMul", {x, w})}));
  CompileOptions options;
  const Graph graph = Inferred(builder);
  EXPECT_EQ(OperatorsOf(Must(CompileModel(graph, options)).graph), "plimsoll::FusedMatMul");
  options.plan.lifetimes.target = {.backend = &backend, .host_reachable = false};
  EXPECT_EQ(OperatorsOf(Must(CompileModel(graph, options)).graph), "MatMul Relu");
}

}  // namespace place_nodes_test
}  // namespace plimsoll::compile
