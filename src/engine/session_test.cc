#include "engine/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "engine/session_for_tests.h"

namespace plimsoll::engine {
namespace session_test {

using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

using compile::FloatTensor;
using compile::With;

TEST(SessionTest, AddsRunsAndUnloadsAModel) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({2, 3}));
  const std::vector<Port> inputs = *session->Inputs(id);
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(Text(inputs[0].type), "float32[2,3]");
  EXPECT_EQ(Text((*session->Outputs(id))[0].type), "float32[2,3]");

  const HostTensor x = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const HostTensor y = *kernels::AllocateOnHeap(DataType::kFloat32, {2, 3});
  const std::vector<TensorView> from = {View(x)};
  const std::vector<TensorView> to = {View(y)};
  ASSERT_EQ(CodeOf(session->Run(id, from, to)), "");
  EXPECT_EQ(ElementsOf(y), (std::vector<float>{2, 3, 4, 5, 6, 7}));

  EXPECT_EQ(CodeOf(session->Unload(id)), "");
  EXPECT_EQ(CodeOf(session->Run(id, from, to)), "session.graph");
  EXPECT_EQ(CodeOf(session->Unload(id)), "session.graph");
  EXPECT_EQ(CodeOf(session->Inputs(id).status()), "session.graph");
  EXPECT_EQ(CodeOf(session->Memory(GraphId()).status()), "session.graph");
}

TEST(SessionTest, IdsAreNeverUsedAgain) {
  const auto session = MakeSession();
  std::set<GraphId> seen;
  for (int i = 0; i < 4; ++i) {
    const GraphId id = MustAdd(*session, AddOne({1}));
    EXPECT_TRUE(seen.insert(id).second);
    EXPECT_EQ(CodeOf(session->Unload(id)), "");
  }
}

TEST(SessionTest, AnErrorInOneGraphLeavesTheOtherRunning) {
  const auto session = MakeSession();
  const GraphId good = MustAdd(*session, AddOne({2}));
  GraphBuilder builder;
  builder.Output(builder.Nodes("Conjure", {builder.Input("x", FloatTensor({2}))}, 1)[0]);
  Graph unknown = builder.Build();
  const auto added = session->Add(std::move(unknown));
  const HostTensor x = Floats({2}, {1, 2});
  const Status failed =
      added.ok() ? session->RunValues(*added, Values({x})).status() : added.status();
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(ElementsOf(MustRun(*session, good, {x})[0]), (std::vector<float>{2, 3}));
}

TEST(SessionTest, OutputsThatAreInputsConstantsOrTheSameValueTwice) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({3}));
  const ValueId constant = builder.Float32s("c", {2}, {7, 8});
  const ValueId sum = builder.Node("Add", {x, x});
  for (const ValueId output : {sum, x, constant, sum}) builder.Output(output);
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  for (int run = 0; run < 2; ++run) {
    const auto outputs = MustRun(*session, id, {Floats({3}, {1, 2, 3})});
    ASSERT_EQ(outputs.size(), 4U);
    EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{2, 4, 6}));
    EXPECT_EQ(ElementsOf(outputs[1]), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(ElementsOf(outputs[2]), (std::vector<float>{7, 8}));
    EXPECT_EQ(ElementsOf(outputs[3]), (std::vector<float>{2, 4, 6}));
  }
}

TEST(SessionTest, AnInputIsNotChangedByNodesThatWorkInPlace) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({64}));
  ValueId y = x;
  for (const char* op : {"Neg", "Exp", "Relu"}) y = builder.Node(op, {y});
  builder.Output(y);
  builder.Output(builder.Node("Abs", {x}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const HostTensor input = Random({64}, 1);
  const std::vector<float> before = ElementsOf(input);
  const auto outputs = MustRun(*session, id, {input});
  EXPECT_EQ(ElementsOf(input), before);
  const std::vector<float> chain = ElementsOf(outputs[0]);
  const std::vector<float> absolute = ElementsOf(outputs[1]);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(chain[i], std::exp(-before[i]), 1e-5);
    EXPECT_EQ(absolute[i], std::abs(before[i]));
  }
}

TEST(SessionTest, AnOutputMayBeTheMemoryOfAnInputOfAnEarlierRun) {
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, AddOne({16}));
  HostTensor now = Floats({16}, std::vector<float>(16, 0));
  HostTensor next = *kernels::AllocateOnHeap(DataType::kFloat32, {16});
  for (int run = 0; run < 5; ++run) {
    const std::vector<TensorView> from = {View(now)};
    const std::vector<TensorView> to = {View(next)};
    ASSERT_EQ(CodeOf(session->Run(id, from, to)), "");
    std::swap(now, next);
  }
  EXPECT_EQ(ElementsOf(now), std::vector<float>(16, 5));
}

// A convolution, a product over many rows and a softmax: work that is split among threads.
Graph WideGraph() {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({2, 8, 32, 32}));
  const auto weights = [&](const std::string& name, Ints dims, uint32_t seed) {
    return builder.Float32s(name, dims, ElementsOf(Random(dims, seed)));
  };
  ValueId y =
      builder.Node("Conv", {x, weights("w", {16, 8, 3, 3}, 1)}, With("pads", Ints{1, 1, 1, 1}));
  y = builder.Node("Reshape", {builder.Node("Relu", {y}), builder.Int64s("s", {2, 16, 1024})});
  y = builder.Node("MatMul", {y, weights("m", {1024, 96}, 2)});
  builder.Output(builder.Node("Softmax", {y}, With("axis", int64_t{-1})));
  return builder.Build();
}

TEST(SessionTest, TwoThreadsGiveWhatOneGives) {
  const HostTensor x = Random({2, 8, 32, 32}, 3);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    SessionOptions options;
    options.threads = threads;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, WideGraph());
    results.push_back(ElementsOf(MustRun(*session, id, {x})[0]));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(SessionTest, GraphsRunSideBySideAndRunsOfOneGraphWait) {
  const auto session = MakeSession();
  const GraphId wide = MustAdd(*session, WideGraph());
  const GraphId other = MustAdd(*session, WideGraph());
  const GraphId gone = MustAdd(*session, AddOne({4}));
  const HostTensor x = Random({2, 8, 32, 32}, 4);
  const std::vector<float> expected = ElementsOf(MustRun(*session, wide, {x})[0]);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (const GraphId id : {wide, other, wide, other}) {
    callers.emplace_back([&, id] {
      for (int run = 0; run < 5; ++run) {
        auto outputs = session->RunValues(id, Values({x}));
        if (!outputs.ok() || ElementsOf((*outputs)[0].tensor) != expected) ++wrong;
      }
    });
  }
  EXPECT_EQ(CodeOf(session->Unload(gone)), "");
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(SessionTest, NanWeightsGiveNanAndNoCrash) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({1, 8, 6, 6}));
  const ValueId w = builder.Float32s("w", {16, 8, 3, 3}, std::vector<float>(16 * 8 * 9, nan));
  ValueId y = builder.Node("Conv", {x, w}, With("pads", Ints{1, 1, 1, 1}));
  y = builder.Node("Reshape", {y, builder.Int64s("s", {16, 36})});
  y = builder.Node("MatMul", {y, builder.Float32s("m", {36, 5}, std::vector<float>(180, nan))});
  builder.Output(builder.Node("Softmax", {y}, With("axis", int64_t{-1})));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  for (const float element : ElementsOf(MustRun(*session, id, {Random({1, 8, 6, 6}, 5)})[0])) {
    EXPECT_TRUE(std::isnan(element));
  }
}

TEST(SessionTest, AGraphWithoutNodesOrInputsRuns) {
  GraphBuilder builder;
  builder.Output(builder.Float32s("c", {2}, {1, 2}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {})[0]), (std::vector<float>{1, 2}));
}

TEST(SessionTest, EmptyTensorsRun) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({Dim::Symbol("n"), 4}));
  const ValueId w = builder.Float32s("w", {4, 3}, std::vector<float>(12, 1));
  builder.Output(builder.Node("Relu", {builder.Node("MatMul", {x, w})}));
  const auto session = MakeSession();
  const GraphId id = MustAdd(*session, builder.Build());
  const auto none = MustRun(*session, id, {Floats({0, 4}, {})});
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].dims, (kernels::Dims{0, 3}));
  EXPECT_EQ(ElementsOf(MustRun(*session, id, {Floats({1, 4}, {1, 2, 3, 4})})[0]),
            (std::vector<float>{10, 10, 10}));
}

}  // namespace session_test
}  // namespace plimsoll::engine
