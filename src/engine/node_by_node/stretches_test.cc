#include "engine/node_by_node/stretches.h"

#include <gtest/gtest.h>

#include "engine/session_for_tests.h"

// Graphs that are cut where only data tells a size.
namespace plimsoll::engine {
namespace stretches_test {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;
using kernels::HostTensor;

// The elements of |x| - 1 that are not 0, then two more nodes over as many as there are.
Graph Picking() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n")}));
  const ValueId one = builder.Float32s("one", {}, {1});
  const ValueId less = builder.Node("Sub", {builder.Node("Abs", {x}), one});
  const ValueId rows = builder.Node("Transpose", {builder.Node("NonZero", {less})});
  const ValueId picked = builder.Node("GatherND", {less, rows});
  builder.Output(builder.Node("Neg", {builder.Node("Add", {picked, picked})}));
  return builder.Build();
}

StretchCounts CountsOf(Session& session, GraphId id) { return session.Memory(id)->stretches; }

TEST(StretchesTest, WhatFollowsASizeThatDataTellsIsPlannedWhenThatComesAgain) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Picking());
  const auto run = [&](const std::vector<float>& x) {
    return ElementsOf(MustRun(*session, id, {Floats({static_cast<int64_t>(x.size())}, x)})[0]);
  };
  EXPECT_EQ(run({1, -3, 4, -1}), (std::vector<float>{-4, -6}));
  StretchCounts counts = CountsOf(*session, id);
  EXPECT_EQ(counts.stretches, 1) << "what comes before NonZero";
  EXPECT_EQ(counts.planned_nodes, 2);
  EXPECT_EQ(counts.single_nodes, 5);
  EXPECT_EQ(run({5, 1, 1, 2}), (std::vector<float>{-8, -2})) << "as many, of other places";
  counts = CountsOf(*session, id);
  EXPECT_EQ(counts.stretches, 2);
  EXPECT_EQ(counts.planned_nodes, 6);
  ASSERT_EQ(counts.single.size(), 1U);
  EXPECT_NE(counts.single[0].find("NonZero"), std::string::npos) << counts.single[0];
  EXPECT_EQ(run({2, 1, 1, 1}), (std::vector<float>{-2})) << "another number";
  EXPECT_EQ(run({1, 1}), std::vector<float>());
  EXPECT_EQ(run({5, 1, 1, 2}), (std::vector<float>{-8, -2}));
  EXPECT_EQ(CountsOf(*session, id).stretches, 2) << "kept";
}

// Sizes that follow from elements, not from sizes, are no part of a plan that is kept by sizes.
TEST(StretchesTest, ElementsThatDecideASizeAreLookedAtInEveryRun) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({4}));
  const ValueId places = builder.Node("NonZero", {x});
  const ValueId sum = builder.Node("ReduceSum", {builder.Node("Abs", {places})});
  const ValueId size = builder.Node("Reshape", {sum, builder.Int64s("one", {1})});
  const ValueId wide = builder.Node("Expand", {builder.Float32s("two", {}, {2}), size});
  builder.Output(builder.Node("Neg", {wide}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(MustRun(*session, id, {Floats({4}, {1, 1, 0, 0})})[0].elements(), 1);
    EXPECT_EQ(MustRun(*session, id, {Floats({4}, {0, 0, 1, 1})})[0].elements(), 5);
    EXPECT_EQ(ElementsOf(MustRun(*session, id, {Floats({4}, {1, 0, 1, 0})})[0]),
              (std::vector<float>{-2, -2}));
  }
}

// x repeated `count` times, then two more nodes.
Graph Repeating() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 2}));
  const ValueId count = builder.Input("count", ValueType::Tensor(DataType::kInt64, Shape{1}));
  const ValueId doubled = builder.Node("Add", {x, x});
  const ValueId dims =
      builder.Node("Concat", {count, builder.Int64s("two", {2})}, With("axis", int64_t{0}));
  const ValueId wide = builder.Node("Expand", {doubled, dims});
  builder.Output(builder.Node("Neg", {builder.Node("Abs", {wide})}));
  return builder.Build();
}

HostTensor Count(int64_t element) {
  HostTensor tensor = Integer(element);
  tensor.dims = {1};
  return tensor;
}

// Elements that tell a size come again as sizes do: the plan goes past the node that reads them.
TEST(StretchesTest, AStretchIsKeptByTheElementsThatTellItsSizes) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, Repeating());
  const auto singles = [&](int64_t count) {
    const auto made = MustRun(*session, id, {Floats({1, 2}, {1, -3}), Count(count)});
    EXPECT_EQ(made[0].dims, (kernels::Dims{count, 2}));
    EXPECT_EQ(ElementsOf(made[0]).back(), -6);
    return CountsOf(*session, id).single_nodes;
  };
  EXPECT_EQ(singles(3), 0) << "the first is compiled at once";
  EXPECT_EQ(singles(5), 5) << "one that may never come again";
  EXPECT_EQ(singles(5), 0);
  EXPECT_EQ(singles(3), 0) << "kept";
  EXPECT_EQ(CountsOf(*session, id).planned_nodes, 5);
}

// Elements that are others in every run are not assumed for long: what comes before and behind the
// node that reads them is planned by sizes.
TEST(StretchesTest, ElementsThatKeepChangingAreAssumedNoMore) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1000}));
  const ValueId start = builder.Input("start", ValueType::Tensor(DataType::kInt64, Shape{1}));
  const ValueId end = builder.Node("Add", {start, builder.Int64s("two", {2})});
  const ValueId picked =
      builder.Node("Slice", {builder.Node("Abs", {x}), start, end, builder.Int64s("axis", {0})});
  builder.Output(builder.Node("Neg", {builder.Node("Add", {picked, picked})}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  std::vector<float> all(1000);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i);
  StretchCounts counts;
  for (int64_t run = 0; run < 20; ++run) {
    const auto made = MustRun(*session, id, {Floats({1000}, all), Count(10 * run)});
    const auto first = static_cast<float>(-20 * run);
    EXPECT_EQ(ElementsOf(made[0]), (std::vector<float>{first, first - 2}));
    counts = CountsOf(*session, id);
    EXPECT_TRUE(run != 1 || counts.stretches == 0) << "assumed, and not so";
  }
  EXPECT_EQ(counts.stretches, 2);
  EXPECT_EQ(counts.single_nodes, 1) << "the Slice";
}

// A loop whose carried value grows meets a new size in each iteration, and compiles for none of
// them; another is planned as a whole for as long as it goes round as often as before, else it runs
// one compiled body.
TEST(StretchesTest, BodiesAreCompiledWhereTheirSizesComeAgain) {
  for (const bool grows : {true, false}) {
    GraphBuilder builder;
    const ValueId trips = builder.Input("trips", ValueType::Tensor(DataType::kInt64, Shape{}));
    const ValueId start = builder.Input("start", FloatTensor({2}));
    const SubgraphId body = builder.BeginBody("body");
    builder.BodyInput("i", {});
    const ValueId running = builder.BodyInput("go", {});
    const ValueId x = builder.BodyInput("x", {});
    const ValueId more = grows ? builder.Node("Concat", {x, x}, With("axis", int64_t{0}))
                               : builder.Node("Add", {x, x});
    const ValueId next = builder.Node("Abs", {builder.Node("Neg", {more})});
    const ValueId sum = builder.Node("ReduceSum", {next}, With("keepdims", int64_t{0}));
    builder.EndBody({running, next, sum});
    const auto made = builder.Nodes("Loop", {trips, ValueId(), start}, 2, With("body", body));
    for (const ValueId one : made) builder.Output(one);
    const auto session = MakeSession();
    const GraphId id = MustAdd(*session, builder.Build());
    const auto outputs = MustRun(*session, id, {Integer(5), Floats({2}, {1, -2})});
    EXPECT_EQ(outputs[0].dims, (kernels::Dims{grows ? 64 : 2}));
    EXPECT_EQ(ElementsOf(outputs[1]), grows ? (std::vector<float>{6, 12, 24, 48, 96})
                                            : (std::vector<float>{6, 12, 24, 48, 96}));
    EXPECT_EQ(CountsOf(*session, id).stretches, grows ? 0 : 1) << "it goes round 5 times";
    for (const int64_t other : {1, 2, 3, 4, 6, 7, 5}) {
      MustRun(*session, id, {Integer(other), Floats({2}, {1, -2})});
    }
    if (!grows) {
      EXPECT_EQ(CountsOf(*session, id).stretches, 5) << "as often as nobody knows";
    }
    const auto none = MustRun(*session, id, {Integer(0), Floats({2}, {1, -2})});
    EXPECT_EQ(none[1].dims, (kernels::Dims{0}));
  }
}

// A loop comes through the same sizes in each run, so that more of them are kept.
TEST(StretchesTest, ALoopWhoseSizesGrowKeepsThoseOfAllIterations) {
  GraphBuilder builder;
  const ValueId trips = builder.Input("trips", ValueType::Tensor(DataType::kInt64, Shape{}));
  const ValueId start = builder.Input("start", FloatTensor({1}));
  const ValueId one = builder.Float32s("one", {1}, {1});
  const SubgraphId body = builder.BeginBody("body");
  builder.BodyInput("i", {});
  const ValueId running = builder.BodyInput("go", {});
  const ValueId x = builder.BodyInput("x", {});
  const ValueId longer = builder.Node("Concat", {x, one}, With("axis", int64_t{0}));
  builder.EndBody({running, builder.Node("Add", {longer, one})});
  builder.Output(builder.Node("Loop", {trips, ValueId(), start}, With("body", body)));
  SessionOptions options;
  options.load.kept_plans = 2;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, builder.Build());
  for (int run = 0; run < 3; ++run) {
    const auto made = MustRun(*session, id, {Integer(3), Floats({1}, {5})});
    EXPECT_EQ(ElementsOf(made[0]), (std::vector<float>{8, 4, 3, 2}));
    MustRun(*session, id, {Integer(12), Floats({1}, {5})});
  }
  const StretchCounts counts = CountsOf(*session, id);
  EXPECT_EQ(counts.stretches, 12);
  EXPECT_EQ(counts.single_nodes, 1) << "the Loop";
}

// Plans are kept for so many sizes, at each place of the graph.
TEST(StretchesTest, TheLongestUnusedPlanGoesFirst) {
  SessionOptions options;
  options.load.kept_plans = 2;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, Picking());
  const auto stretches = [&](size_t others) {
    std::vector<float> x(8, 1);
    for (size_t i = 0; i < others; ++i) x[i] = 3;
    EXPECT_EQ(MustRun(*session, id, {Floats({8}, x)})[0].elements(), static_cast<int64_t>(others));
    return CountsOf(*session, id).stretches;
  };
  EXPECT_EQ(stretches(3), 1);
  EXPECT_EQ(stretches(3), 2);
  EXPECT_EQ(stretches(4), 1);
  EXPECT_EQ(stretches(3), 2) << "both are kept";
  EXPECT_EQ(stretches(5), 1);
  EXPECT_EQ(stretches(4), 1) << "it went";
}

}  // namespace stretches_test
}  // namespace plimsoll::engine
