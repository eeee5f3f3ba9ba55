#include "engine/streamed_run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "engine/configured_runs_for_tests.h"
#include "engine/models_for_tests.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/watched_device.h"

// Streams that a file asks for (plimsoll.stream): they act, and results are those without.
namespace plimsoll::engine {
namespace {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kSide = 40;

Node& MakerOf(Graph& graph, ValueId value) { return graph[graph[value].producer]; }

// Without streams, and without what only says where memory lies.
Graph OnOneStream(Graph graph) {
  for (Node& node : graph.nodes) node.memory = {};
  return graph;
}

SessionOptions Plain() {
  SessionOptions options;
  options.load.optimise = false;
  return options;
}

// Sleeps now and then, so that streams meet in many ways.
class Shaking {
 public:
  void operator()(const Task& task) const {
    const auto seed =
        std::hash<std::thread::id>()(std::this_thread::get_id()) +
        static_cast<size_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    if (task.kind == Task::Kind::kRun && seed / 7 % 3 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(seed / 11 % 200));
    }
  }
};

// Runs the executable on its streams, shaken, in an arena full of NaN patterns.
void ExpectShakenRuns(const std::shared_ptr<const Executable>& executable,
                      const std::vector<HostTensor>& inputs,
                      const std::vector<HostTensor>& expected, int runs) {
  const StreamedRun run(executable);
  const auto device = std::make_shared<device::CpuDevice>();
  StreamSet streams(device, device->Current());
  ASSERT_TRUE(streams.Grow(StreamedRun::StreamsOf(*executable)).ok());
  const int64_t size = executable->program().total().value();
  const HostTensor arena = *kernels::AllocateOnHeap(DataType::kUint8, {size});
  auto addresses = BindTo(*executable, arena);
  for (int pass = 0; pass < runs; ++pass) {
    std::memset(arena.data.get(), 0xff, static_cast<size_t>(size));
    const auto given = CopiesOf(inputs);
    const auto made = CopiesOf(expected);
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const HostTensor& tensor : given) from.push_back(tensor.data.get());
    for (const HostTensor& tensor : made) {
      std::memset(tensor.data.get(), 0x55, static_cast<size_t>(tensor.size().value()));
      to.push_back(tensor.data.get());
    }
    const Status done = run.Run(streams, {}, addresses, {.inputs = from, .outputs = to}, Shaking());
    ASSERT_TRUE(done.ok()) << done.error().Text();
    for (size_t i = 0; i < made.size(); ++i) {
      ASSERT_EQ(BytesOf(made[i]), BytesOf(expected[i])) << "output " << i << ", run " << pass;
    }
  }
}

// A session gives what the graph gives without streams, and so do shaken and poisoned runs.
std::shared_ptr<const Executable> ExpectSameOnStreams(const Graph& graph,
                                                      const std::vector<HostTensor>& inputs,
                                                      size_t streams,
                                                      const SessionOptions& options = Plain(),
                                                      int runs = 5) {
  const auto plain = MakeSession(options);
  const auto expected = MustRun(*plain, MustAdd(*plain, OnOneStream(graph)), CopiesOf(inputs));
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, graph);
  for (int pass = 0; pass < 2; ++pass) {
    const auto got = MustRun(*session, id, CopiesOf(inputs));
    EXPECT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i])) << i;
  }
  const auto compiled = session->Compile(id, Views(inputs));
  if (!compiled.ok() || *compiled == nullptr) {
    ADD_FAILURE() << "there is no plan";
    return nullptr;
  }
  EXPECT_EQ(StreamedRun::StreamsOf(**compiled), streams);
  ExpectShakenRuns(*compiled, inputs, expected, runs);
  ExpectSameBytes(graph, inputs, options);
  return *compiled;
}

// Branches on `streams` streams that meet again and again.
Graph Braid(int streams, const Dim& rows = kSide) {
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({rows, kSide}));
  std::vector<ValueId> strands(static_cast<size_t>(streams), x);
  uint32_t seed = 1;
  for (int round = 0; round < 4; ++round) {
    std::vector<ValueId> next;
    for (size_t i = 0; i < strands.size(); ++i) {
      const ValueId w = RandomWeights(builder, "w" + std::to_string(seed), {kSide, kSide}, seed);
      ++seed;
      const ValueId product = builder.Node("MatMul", {strands[i], w});
      const ValueId sum = builder.Node("Add", {product, strands[(i + 1) % strands.size()]});
      const ValueId made = builder.Node("Tanh", {sum});
      for (const ValueId value : {product, sum, made}) {
        MakerOf(builder.graph(), value).memory.stream = static_cast<int>(i);
      }
      next.push_back(made);
    }
    strands = next;
  }
  for (const ValueId strand : strands) builder.Output(strand);
  return builder.Build();
}

TEST(StreamedRunTest, GraphsOfTwoToSixStreamsGiveTheSame) {
  for (int streams = 2; streams <= 6; ++streams) {
    SCOPED_TRACE(streams);
    for (const int threads : {1, 2}) {
      SessionOptions options = Plain();
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
    SessionOptions options = Plain();
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
  const auto session = MakeSession(Plain());
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
Graph WithBranches() {
  GraphBuilder builder;
  Graph& graph = builder.graph();
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
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
  for (const bool taken : {false, true}) {
    for (const bool apart : {false, true}) {
      SessionOptions options = Plain();
      options.config.ac_parallel_enable = apart;
      const auto executable = ExpectSameOnStreams(
          WithBranches(), {Random({kSide, kSide}, 4), Bool(taken)}, 4, options, 20);
      ASSERT_NE(executable, nullptr);
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
                      4, Plain(), 20);
}

// x is read on streams 1 and 2, then written over on stream 3, and read there and on stream 0.
TEST(StreamedRunTest, AReferenceOutputWaitsForTheReadersOfAllStreams) {
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
  ExpectSameOnStreams(builder.Build(), {Random({kSide, kSide}, 1)}, 4, Plain(), 50);
}

// Memory of stream 0 goes to stream 2 only because that waits for stream 1, which waited for 0.
TEST(StreamedRunTest, MemoryIsHandedOnOverAThirdStream) {
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
  const auto executable =
      ExpectSameOnStreams(builder.Build(), {Random({kSide, kSide}, 1)}, 4, Plain(), 20);
  ASSERT_NE(executable, nullptr);
  constexpr int64_t kProduct = kSide * kSide * 4;
  EXPECT_LT(PeakOf(*executable), Bytes(5 * kProduct)) << "bytes are used again";
}

TEST(StreamedRunTest, NumbersNeedNotBeDense) {
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
  SessionOptions options = Plain();
  options.config.input_reuse_mem_indexes = {0};
  const auto executable = ExpectSameOnStreams(Braid(2), {Random({kSide, kSide}, 3)}, 2, options);
  ASSERT_NE(executable, nullptr);
  const auto& notes = executable->model().planned.buffers.notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].text.find("several streams"), std::string::npos) << notes[0].text;
}

TEST(StreamedRunTest, ACancelledRunEndsAndTheNextOneIsRight) {
  const auto session = MakeSession(Plain());
  const GraphId id = MustAdd(*session, Braid(4));
  const std::vector<HostTensor> inputs = {Random({kSide, kSide}, 3)};
  const auto expected = MustRun(*session, id, inputs);
  for (int pass = 0; pass < 20; ++pass) {
    std::atomic<bool> cancelled = pass % 2 == 0;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(pass * 50));
      cancelled = true;
    });
    RunOptions options;
    options.cancelled = &cancelled;
    const auto outputs = session->RunValues(id, Values(inputs), options);
    canceller.join();
    EXPECT_TRUE(outputs.ok() || outputs.error().code == "run.cancelled");
    EXPECT_FALSE(pass % 2 == 0 && outputs.ok());
  }
  const auto again = MustRun(*session, id, inputs);
  ASSERT_EQ(again.size(), expected.size());
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(BytesOf(again[i]), BytesOf(expected[i]));
}

// A kernel of one stream refuses its data while the others work.
TEST(StreamedRunTest, AnErrorOfOneStreamIsTheErrorOfTheRun) {
  GraphBuilder builder;
  Graph& graph = builder.graph();
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const ValueId rows =
      builder.Input("rows", graph::ValueType::Tensor(DataType::kInt64, graph::Shape{}));
  const ValueId w = RandomWeights(builder, "w", {kSide, kSide}, 3);
  for (int stream = 0; stream < 3; ++stream) {
    ValueId y = builder.Node("MatMul", {x, w});
    MakerOf(graph, y).memory.stream = stream;
    if (stream == 1) y = builder.Node("Gather", {y, rows}, With("axis", int64_t{0}));
    MakerOf(graph, y).memory.stream = stream;
    y = builder.Node("Neg", {y});
    MakerOf(graph, y).memory.stream = stream;
    builder.Output(y);
  }
  const auto session = MakeSession(Plain());
  const GraphId id = MustAdd(*session, builder.Build());
  for (const int64_t row : {1, 1000, 2}) {
    const auto outputs = session->RunValues(id, Values({Random({kSide, kSide}, 3), Integer(row)}));
    EXPECT_EQ(outputs.ok(), row < kSide);
    if (!outputs.ok()) {
      EXPECT_NE(outputs.error().Text().find("Gather"), std::string::npos);
    }
  }
}

TEST(StreamedRunTest, EachDeviceCallFailsOnceAndTheSessionGoesOn) {
  const std::vector<HostTensor> inputs = {Random({kSide, kSide}, 3)};
  const auto plain = MakeSession(Plain());
  const auto expected = MustRun(*plain, MustAdd(*plain, OnOneStream(Braid(3))), inputs);
  bool ended = false;
  int64_t reported = 0;
  for (int64_t call = 0; !ended && call < 1000; ++call) {
    const auto device =
        std::make_shared<device::WatchedDevice>(std::make_shared<device::CpuDevice>());
    SessionOptions options = Plain();
    options.device = device;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, Braid(3));
    const int64_t before = device->total();
    device->FailAfter(call, ErrorKind::kRunFailed);
    const auto failed = session->RunValues(id, Values(inputs));
    ended = device->total() - before <= call;
    device->FailNoMore();
    if (!failed.ok()) {
      ++reported;
      EXPECT_NE(failed.error().Text().find("told to fail"), std::string::npos)
          << failed.error().Text();
    }
    const auto got = MustRun(*session, id, inputs);
    ASSERT_EQ(got.size(), expected.size()) << call;
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i]));
  }
  EXPECT_TRUE(ended);
  EXPECT_GT(reported, 10);
}

// Graphs drawn at random: every node on a stream of its own choice.
Graph RandomStreams(uint32_t seed, int streams) {
  std::mt19937 random(seed);
  GraphBuilder builder;
  Graph& graph = builder.graph();
  std::vector<ValueId> values = {builder.Input("x", FloatTensor({8, 16})),
                                 builder.Input("z", FloatTensor({8, 16}))};
  const ValueId c = builder.Input("c", graph::ValueType::Tensor(DataType::kBool, graph::Shape{}));
  const ValueId w = RandomWeights(builder, "w", {16, 16}, seed);
  const auto any = [&] { return values[random() % values.size()]; };
  const auto place = [&](ValueId value) {
    graph::MemoryAttributes& memory = MakerOf(graph, value).memory;
    memory.stream = static_cast<int>(random() % static_cast<uint32_t>(streams));
    if (random() % 10 == 0) memory.no_address_refresh = true;
    if (random() % 12 == 0) memory.fixed_address = true;
    return value;
  };
  int names = 0;
  const auto number = [&] { return std::to_string(names++); };
  const int nodes = 6 + static_cast<int>(random() % 20);
  for (int i = 0; i < nodes; ++i) {
    switch (random() % 8) {
      case 0:
        values.push_back(place(builder.Node("MatMul", {any(), w})));
        break;
      case 1:
        values.push_back(
            place(builder.Node("Reshape", {any(), builder.Int64s("s" + number(), {8, 16})})));
        break;
      case 2: {
        const ValueId both =
            place(builder.Node("Concat", {any(), any()}, With("axis", int64_t{0})));
        values.push_back(place(builder.Node("Slice", {both, builder.Int64s("b" + number(), {4}),
                                                      builder.Int64s("e" + number(), {12})})));
        break;
      }
      case 3: {
        const std::vector<ValueId> halves =
            builder.Nodes("Split", {any()}, 2, With("num_outputs", int64_t{2}));
        place(halves[0]);
        values.push_back(
            place(builder.Node("Concat", {halves[1], halves[0]}, With("axis", int64_t{0}))));
        break;
      }
      case 4: {
        graph::Attributes attributes;
        for (const char* branch : {"then_branch", "else_branch"}) {
          const graph::SubgraphId body = builder.BeginBody(branch + number());
          const ValueId inner = builder.Node("Sub", {any(), any()});
          builder.EndBody({random() % 2 == 0 ? inner : builder.Node("Sin", {inner}),
                           random() % 2 == 0 ? any() : inner});
          attributes.Set(branch, graph::Attribute(body));
        }
        for (const ValueId value : builder.Nodes("If", {c}, 2, std::move(attributes))) {
          values.push_back(value);
        }
        MakerOf(graph, values.back()).memory.stream =
            static_cast<int>(random() % static_cast<uint32_t>(streams));
        break;
      }
      default:
        values.push_back(place(builder.Node(random() % 2 == 0 ? "Mul" : "Sub", {any(), any()})));
    }
  }
  for (int i = 0; i < 2; ++i) builder.Output(place(builder.Node("Abs", {any()})));
  // The last reader of a value may write over it.
  const ValueId over = builder.Node("Neg", {values.back()});
  MakerOf(graph, over).memory.stream = static_cast<int>(random() % static_cast<uint32_t>(streams));
  if (graph[values.back()].producer.valid()) {
    MakerOf(graph, over).memory.reference_outputs = {{0, 0}};
  }
  builder.Output(place(builder.Node("Tanh", {over})));
  return builder.Build();
}

TEST(StreamedRunTest, RandomGraphsGiveTheSameOnAnyStreams) {
  for (uint32_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = RandomStreams(seed, 2 + static_cast<int>(seed % 5));
    const std::vector<HostTensor> inputs = {Random({8, 16}, seed), Random({8, 16}, seed + 1),
                                            Bool(seed % 3 == 0)};
    const auto plain = MakeSession(Plain());
    const auto expected = MustRun(*plain, MustAdd(*plain, OnOneStream(graph)), CopiesOf(inputs));
    SessionOptions options = Plain();
    options.threads = 1 + static_cast<int>(seed % 2);
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, graph);
    const auto got = MustRun(*session, id, CopiesOf(inputs));
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i])) << i;
    const auto compiled = session->Compile(id, Views(inputs));
    ASSERT_TRUE(compiled.ok() && *compiled != nullptr);
    ExpectShakenRuns(*compiled, inputs, expected, 2);
  }
}

}  // namespace
}  // namespace plimsoll::engine
