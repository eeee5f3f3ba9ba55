#include "engine/run/streamed_run.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>

#include "engine/streams/stream_races_for_tests.h"
#include "engine/streams/streamed_graphs_for_tests.h"
#include "plimsoll/device/watched_device.h"

// Streams that a file asks for (plimsoll.stream): they act, and results are those without.
namespace plimsoll::engine {
namespace streamed_run_test {

using compile::FloatTensor;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kSide = kBraidSide;

// A session gives what the graph gives without streams, and so do runs in any schedule and poisoned
// ones; nothing that may happen at once touches the same bytes.
std::shared_ptr<const Executable> ExpectSameOnStreams(
    const Graph& graph, const std::vector<HostTensor>& inputs, size_t streams,
    const SessionOptions& options = WithoutPasses()) {
  const auto plain = MakeSession(options);
  const auto expected = MustRun(*plain, MustAdd(*plain, OnOneStream(graph)), CopiesOf(inputs));
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, graph);
  for (int pass = 0; pass < 2; ++pass) {
    const auto got = MustRun(*session, id, CopiesOf(inputs));
    if (got.size() != expected.size()) return nullptr;
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i])) << i;
  }
  const auto compiled = session->Compile(id, Views(inputs));
  if (!compiled.ok() || *compiled == nullptr) {
    ADD_FAILURE() << "there is no plan";
    return nullptr;
  }
  EXPECT_EQ(StreamedRun::StreamsOf(**compiled), streams);
  EXPECT_EQ(RacesOf(**compiled), std::vector<std::string>());
  ExpectSameInAnySchedule(*compiled, inputs, expected);
  ExpectSameBytes(graph, inputs, options);
  return *compiled;
}

TEST(StreamedRunTest, GraphsOfTwoToSixStreamsGiveTheSame) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  for (int streams = 2; streams <= 6; ++streams) {
    SCOPED_TRACE(streams);
    for (const int threads : {1, 2}) {
      SessionOptions options = WithoutPasses();
      options.threads = threads;
      ExpectSameOnStreams(Braid(streams), {Random({kSide, kSide}, 3)}, static_cast<size_t>(streams),
                          options);
      ExpectSameOnStreams(Braid(streams, Dim::Symbol("rows")), {Random({7, kSide}, 3)},
                          static_cast<size_t>(streams), options);
    }
  }
}

TEST(StreamedRunTest, StreamsOfTheFileActInStaticAndDynamicGraphs) {
  for (const bool open : {false, true}) {
    const auto device =
        std::make_shared<device::WatchedDevice>(std::make_shared<device::CpuDevice>());
    SessionOptions options = WithoutPasses();
    options.device = device;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, Braid(5, open ? Dim::Symbol("rows") : Dim(kSide)));
    MustRun(*session, id, {Random({kSide, kSide}, 3)});
    const auto& calls = device->calls();
    EXPECT_EQ(calls[static_cast<size_t>(device::DeviceCall::kCreateStream)], 5);
    EXPECT_GT(calls[static_cast<size_t>(device::DeviceCall::kWaitEvent)], 0);
  }
}

TEST(StreamedRunTest, EachStreamHasAThreadAndItsNodesRunInOrder) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession(WithoutPasses());
  const GraphId id = MustAdd(*session, Braid(4));
  const auto executable = *session->Compile(id, Views({Random({kSide, kSide}, 3)}));
  const StreamedRun run(executable);
  const auto device = std::make_shared<device::CpuDevice>();
  StreamSet streams(device, device->Current());
  ASSERT_TRUE(streams.Grow(4).ok());
  const HostTensor arena =
      *kernels::AllocateOnHeap(DataType::kUint8, {executable->program().total().value()});
  auto addresses = BindTo(*executable, arena);
  const HostTensor x = Random({kSide, kSide}, 3);
  const std::vector<HostTensor> outputs = CopiesOf({x, x, x, x});
  std::vector<void*> to;
  for (const HostTensor& output : outputs) to.push_back(output.data.get());
  const std::vector<const void*> from = {x.data.get()};
  const Graph& graph = executable->model().graph;
  std::mutex mutex;
  std::set<std::thread::id> threads[4];
  const auto before = [&](const Task& task) {
    const std::lock_guard lock(mutex);
    if (!task.node.valid()) return;
    threads[graph[task.node].memory.stream].insert(std::this_thread::get_id());
  };
  ASSERT_TRUE(run.Run(streams, {}, addresses, {.inputs = from, .outputs = to}, before).ok());
  std::set<std::thread::id> all;
  for (const auto& used : threads) {
    EXPECT_EQ(used.size(), 1U);
    all.insert(used.begin(), used.end());
  }
  EXPECT_EQ(all.size(), 4U);
}

// Values of other streams are read and returned by the bodies of an If, which itself is on another
// stream, and nodes of a third stream overwrite what it read.
Graph WithBranches(const Dim& rows = kSide) {
  GraphBuilder builder;
  Graph& graph = builder.graph();
  const ValueId x = builder.Input("x", FloatTensor({rows, kSide}));
  const ValueId c = builder.Input("c", graph::ValueType::Tensor(DataType::kBool, graph::Shape{}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  const ValueId left = builder.Node("MatMul", {x, w});
  const ValueId right = builder.Node("Exp", {x});
  MakerOf(graph, right).memory.stream = 1;
  graph::Attributes attributes;
  for (const char* branch : {"then_branch", "else_branch"}) {
    const graph::SubgraphId body = builder.BeginBody(branch);
    ValueId inner = builder.Node("MatMul", {left, w});
    inner = builder.Node("Add", {builder.Node(branch[0] == 't' ? "Sin" : "Cos", {inner}), right});
    builder.EndBody({inner, branch[0] == 't' ? right : left});
    attributes.Set(branch, graph::Attribute(body));
  }
  const std::vector<ValueId> chosen = builder.Nodes("If", {c}, 2, std::move(attributes));
  MakerOf(graph, chosen[0]).memory.stream = 2;
  const ValueId over = builder.Node("Neg", {right});
  MakerOf(graph, over).memory.stream = 3;
  MakerOf(graph, over).memory.reference_outputs = {{0, 0}};
  const ValueId sum = builder.Node("Add", {chosen[0], over});
  builder.Output(builder.Node("Tanh", {sum}));
  builder.Output(chosen[1]);
  builder.Output(chosen[0]);
  return builder.Build();
}

TEST(StreamedRunTest, AnIfRunsAsOneOnItsStream) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  for (const bool taken : {false, true}) {
    for (const bool parallel : {false, true}) {
      SessionOptions options = WithoutPasses();
      options.config.ac_parallel_enable = parallel;
      for (const Dim& rows : {Dim(kSide), Dim::Symbol("rows")}) {
        ExpectSameOnStreams(WithBranches(rows), {Random({kSide, kSide}, 4), Bool(taken)}, 4,
                            options);
      }
    }
  }
}

// What is copied in and out of the plan, on streams that do not wait for each other.
TEST(StreamedRunTest, StagedInputsLiveFromTheStartAndStagedOutputsToTheEnd) {
  GraphBuilder builder;
  std::vector<ValueId> inputs;
  for (int i = 0; i < 4; ++i) {
    inputs.push_back(builder.Input("x" + std::to_string(i), FloatTensor({kSide, kSide})));
  }
  for (int i = 0; i < 4; ++i) {
    ValueId y = inputs[static_cast<size_t>(i)];
    for (int depth = 0; depth < 5; ++depth) {
      y = builder.Node(depth % 2 == 0 ? "Tanh" : "Neg", {y});
      MakerOf(builder.graph(), y).memory.stream = i;
      MakerOf(builder.graph(), y).memory.no_address_refresh = depth == 0 || depth == 4 || i == 1;
      if (depth == i) builder.Output(y);
    }
    builder.Output(y);
  }
  ExpectSameOnStreams(builder.Build(),
                      {Random({kSide, kSide}, 1), Random({kSide, kSide}, 2),
                       Random({kSide, kSide}, 3), Random({kSide, kSide}, 4)},
                      4);
}

// x is read on streams 1 and 2, then written over on stream 3, and read there and on stream 0.
TEST(StreamedRunTest, AReferenceOutputWaitsForTheReadersOfAllStreams) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  GraphBuilder builder;
  Graph& graph = builder.graph();
  const ValueId given = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  const ValueId x = builder.Node("Tanh", {given});
  std::vector<ValueId> readers;
  for (int stream = 1; stream <= 2; ++stream) {
    ValueId y = builder.Node("MatMul", {x, w});
    MakerOf(graph, y).memory.stream = stream;
    readers.push_back(y);
  }
  const ValueId over = builder.Node("Neg", {x});
  MakerOf(graph, over).memory.stream = 3;
  MakerOf(graph, over).memory.reference_outputs = {{0, 0}};
  builder.Output(builder.Node("Add", {builder.Node("Add", {readers[0], readers[1]}), over}));
  ExpectSameOnStreams(builder.Build(), {Random({kSide, kSide}, 1)}, 4);
}

// Memory of stream 0 goes to stream 2 only because that waits for stream 1, which waited for 0.
TEST(StreamedRunTest, MemoryIsHandedOnOverAThirdStream) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  GraphBuilder builder;
  Graph& graph = builder.graph();
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  ValueId y = x;
  for (const int stream : {0, 1, 2, 3, 0, 1, 2, 3, 2, 1}) {
    y = builder.Node("MatMul", {y, w});
    MakerOf(graph, y).memory.stream = stream;
  }
  builder.Output(y);
  const auto executable = ExpectSameOnStreams(builder.Build(), {Random({kSide, kSide}, 1)}, 4);
  ASSERT_NE(executable, nullptr);
  constexpr int64_t kProduct = kSide * kSide * 4;
  EXPECT_LT(PeakOf(*executable), Bytes(5 * kProduct)) << "bytes are used again";
}

TEST(StreamedRunTest, NumbersNeedNotBeDense) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  Graph graph = Braid(3);
  for (Node& node : graph.nodes) node.memory.stream = 5 + 7 * node.memory.stream;
  ExpectSameOnStreams(graph, {Random({kSide, kSide}, 3)}, 3);
  for (Node& node : graph.nodes) node.memory.stream = 9;
  ExpectSameOnStreams(graph, {Random({kSide, kSide}, 3)}, 1);
}

TEST(StreamedRunTest, WhatCannotRunOnStreamsIsRefused) {
  const auto code = [](Graph graph, const std::vector<VariableName>& variables = {}) {
    return CodeOf(MakeSession()->Add(std::move(graph), variables).status());
  };
  Graph body = WithBranches();
  body[body[graph::SubgraphId(1)].nodes[0]].memory.stream = 1;
  EXPECT_EQ(code(std::move(body)), "graph.stream") << "the If is on stream 2";

  EXPECT_EQ(code(Braid(64)), "");
  EXPECT_EQ(code(Braid(65)), "graph.stream");

  Graph training = Braid(2);
  const std::string next = training[training.root().outputs[0]].name;
  EXPECT_EQ(code(std::move(training), {{"x", next, ""}}), "graph.stream");
}

TEST(StreamedRunTest, MemoryOfTheCallersIsNotLentToSeveralStreamsAndThePlanSaysSo) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  SessionOptions options = WithoutPasses();
  options.config.input_reuse_mem_indexes = {0};
  const auto executable = ExpectSameOnStreams(Braid(2), {Random({kSide, kSide}, 3)}, 2, options);
  ASSERT_NE(executable, nullptr);
  const auto& notes = executable->model().planned.buffers.notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].text.find("several streams"), std::string::npos) << notes[0].text;
}

}  // namespace streamed_run_test
}  // namespace plimsoll::engine
