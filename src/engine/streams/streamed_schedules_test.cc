#include <gtest/gtest.h>

#include <atomic>

#include "engine/noted_kernels_for_tests.h"
#include "engine/streams/logged_device_for_tests.h"
#include "engine/streams/stream_races_for_tests.h"
#include "engine/streams/streamed_graphs_for_tests.h"
#include "kernels/parallel.h"

// Which nodes wait for which on several streams: whatever the streams' pace, a node finds what it
// reads, and its bytes are its own.
namespace plimsoll::engine {
namespace streamed_schedules_test {

using compile::FloatTensor;
using compile::With;
using device::DeviceCall;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kSide = kBraidSide;

// `count` nodes one behind the other on a stream; each of their values.
std::vector<ValueId> Strand(GraphBuilder& builder, ValueId from, int count, int stream) {
  std::vector<ValueId> made;
  for (int i = 0; i < count; ++i) {
    const ValueId w = RandomWeights(builder, StrCat("w", stream, "_", i), {kSide, kSide},
                                    static_cast<uint32_t>(10 * stream + i));
    made.push_back(builder.Node("MatMul", {made.empty() ? from : made.back(), w}));
    MakerOf(builder.graph(), made.back()).memory.stream = stream;
  }
  return made;
}

// What the graph gives on one stream is what it gives in any schedule, as a whole session too.
std::shared_ptr<const Executable> ExpectAnySchedule(const Graph& graph,
                                                    const std::vector<HostTensor>& inputs) {
  const auto plain = MakeSession(WithoutPasses());
  const auto expected = MustRun(*plain, MustAdd(*plain, OnOneStream(graph)), CopiesOf(inputs));
  const auto session = MakeSession(WithoutPasses());
  const auto compiled = session->Compile(MustAdd(*session, graph), Views(inputs));
  if (!compiled.ok() || *compiled == nullptr) {
    ADD_FAILURE() << "there is no plan";
    return nullptr;
  }
  EXPECT_EQ(RacesOf(**compiled), std::vector<std::string>());
  ExpectSameInAnySchedule(*compiled, inputs, expected);
  for (const auto& order : OrdersOf(StreamedRun::StreamsOf(**compiled))) {
    SessionOptions options = WithoutPasses();
    options.device =
        std::make_shared<ScheduledDevice>(std::make_shared<device::CpuDevice>(), order);
    const auto scheduled = MakeSession(options);
    const auto got = MustRun(*scheduled, MustAdd(*scheduled, graph), CopiesOf(inputs));
    if (got.size() != expected.size()) return nullptr;
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(BytesOf(got[i]), BytesOf(expected[i])) << i;
  }
  return *compiled;
}

// The segments that a node's own waits for, as "stream:number of nodes before it there".
std::set<std::string> WaitsBefore(const Executable& executable, const std::string& op) {
  const StreamedRun run(std::shared_ptr<const Executable>(std::shared_ptr<void>(), &executable));
  const Program& program = executable.program();
  const auto& segments = run.segments();
  std::set<std::string> waits;
  for (const auto& segment : segments) {
    const Task& first = program.tasks[segment.tasks.front().begin];
    if (executable.model().graph[first.node].op != op) continue;
    for (const size_t awaited : segment.after) {
      size_t nodes = 0;
      for (size_t i = 0; i <= awaited; ++i) {
        if (segments[i].stream == segments[awaited].stream) nodes += segments[i].tasks.size();
      }
      waits.insert(StrCat(segments[awaited].stream, ":", nodes));
    }
  }
  return waits;
}

// The sum reads an early and a late value of each of two other streams.
TEST(StreamedSchedulesTest, ANodeWaitsForTheLatestProducerOfEachForeignStream) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  for (const bool late_first : {false, true}) {
    GraphBuilder builder;
    const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
    const std::vector<ValueId> own = Strand(builder, x, 1, 0);
    const std::vector<ValueId> left = Strand(builder, x, 4, 1);
    const std::vector<ValueId> right = Strand(builder, x, 3, 2);
    std::vector<ValueId> operands = {own[0], left[0], right[0], right[1], left[2]};
    if (late_first) std::reverse(operands.begin(), operands.end());
    builder.Output(builder.Node("Sum", operands));
    builder.Output(left[3]);
    builder.Output(right[2]);
    const auto executable = ExpectAnySchedule(builder.Build(), {Random({kSide, kSide}, 1)});
    ASSERT_NE(executable, nullptr);
    EXPECT_EQ(WaitsBefore(*executable, "Sum"), (std::set<std::string>{"1:3", "2:2"}));
  }
}

// What was waited for once is not waited for again, and what comes later is.
TEST(StreamedSchedulesTest, AStreamWaitsOnceForWhatItHasSeen) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  GraphBuilder builder;
  const ValueId x = builder.Input("x", FloatTensor({kSide, kSide}));
  const std::vector<ValueId> made = Strand(builder, x, 4, 1);
  ValueId y = builder.Node("Add", {x, made[1]});
  y = builder.Node("Sub", {y, made[0]});
  y = builder.Node("Mul", {y, made[3]});
  builder.Output(y);
  const auto executable = ExpectAnySchedule(builder.Build(), {Random({kSide, kSide}, 1)});
  ASSERT_NE(executable, nullptr);
  EXPECT_EQ(WaitsBefore(*executable, "Add"), (std::set<std::string>{"1:2"}));
  EXPECT_EQ(WaitsBefore(*executable, "Sub"), std::set<std::string>());
  EXPECT_EQ(WaitsBefore(*executable, "Mul"), (std::set<std::string>{"1:4"}));
}

// Nodes that work side by side, each in a workspace of its own.
TEST(StreamedSchedulesTest, WorkspacesOfSeveralStreamsAreSeparate) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  constexpr int64_t kWide = 100;  // so that a workspace does not fit on the stack
  GraphBuilder builder;
  Graph& graph = builder.graph();
  const ValueId x = builder.Input("x", FloatTensor({kWide, kWide}));
  for (int stream = 0; stream < 3; ++stream) {
    const size_t first = graph.nodes.size();
    const ValueId w =
        RandomWeights(builder, StrCat("w", stream), {kWide, kWide}, static_cast<uint32_t>(stream));
    const ValueId y = builder.Node("MatMul", {x, w});
    const ValueId determinant = builder.Node("Det", {y});
    const ValueId scaled = builder.Node("Div", {y, determinant});
    const ValueId again = builder.Node("Det", {builder.Node("Tanh", {scaled})});
    const ValueId sum = builder.Node("Add", {scaled, again});
    for (size_t i = first; i < graph.nodes.size(); ++i) graph.nodes[i].memory.stream = stream;
    builder.Output(sum);
  }
  const auto executable = ExpectAnySchedule(builder.Build(), {Random({kWide, kWide}, 1)});
  ASSERT_NE(executable, nullptr);
  std::set<int> streams;
  for (const Task& task : executable->program().tasks) {
    const bool works = task.kind == Task::Kind::kRun && task.kernel->workspace() > Bytes(0);
    if (works) streams.insert(executable->model().graph[task.node].memory.stream);
  }
  EXPECT_EQ(streams, (std::set<int>{0, 1, 2})) << "every stream has a node with a workspace";
}

// Clears of nodes on streams count into the record of the run, whichever stream made them.
TEST(StreamedSchedulesTest, ClearsOfAllStreamsAreInTheRecord) {
  Graph graph = Braid(3);
  int asked = 0;
  for (graph::Node& node : graph.nodes) {
    if (node.op != "Tanh") continue;
    node.memory.needs_clearing = {0};
    ++asked;
  }
  SessionOptions options = WithoutPasses();
  options.config.memory_config.clear_separately = true;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, graph);
  for (int run = 0; run < 2; ++run) {
    MustRun(*session, id, {Random({kSide, kSide}, 3)});
    const RunRecord record = *session->LastRun(id);
    EXPECT_EQ(record.clearing.clears, asked);
    EXPECT_EQ(record.clearing.bytes, Bytes(asked * kSide * kSide * 4));
  }
}

TEST(StreamedSchedulesTest, EveryEventIsDestroyedAndStreamsAreMadeOnce) {
  const auto log = std::make_shared<CallLog>();
  SessionOptions options = WithoutPasses();
  options.device = std::make_shared<LoggedDevice>(std::make_shared<device::CpuDevice>(), log);
  {
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, Braid(3));
    for (int run = 0; run < 3; ++run) MustRun(*session, id, {Random({kSide, kSide}, 3)});
    EXPECT_GT(log->Count(DeviceCall::kRecordEvent), 0);
    EXPECT_EQ(log->Count(DeviceCall::kDestroyEvent), log->Count(DeviceCall::kRecordEvent));
    EXPECT_EQ(log->Count(DeviceCall::kWaitEvent) % 3, 0);
    EXPECT_EQ(log->Count(DeviceCall::kCreateStream), 3);
    EXPECT_EQ(log->Count(DeviceCall::kSynchronizeStream), 3 * 3);
  }
  EXPECT_EQ(log->Count(DeviceCall::kDestroyStream), 3);
}

// Streams that the file asks for use as many threads as any run, host operators in parallel with it
// use one.
TEST(StreamedSchedulesTest, KernelsOfEachStreamHaveTheirThreads) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession(WithoutPasses());
  const auto executable =
      *session->Compile(MustAdd(*session, Braid(3)), Views({Random({kSide, kSide}, 3)}));
  const StreamedRun run(executable);
  const auto device = std::make_shared<device::CpuDevice>();
  StreamSet streams(device, device->Current());
  ASSERT_TRUE(streams.Grow(3).ok());
  const HostTensor arena =
      *kernels::AllocateOnHeap(graph::DataType::kUint8, {executable->program().total().value()});
  auto addresses = BindTo(*executable, arena);
  const HostTensor x = Random({kSide, kSide}, 3);
  const std::vector<HostTensor> outputs = CopiesOf({x, x, x});
  std::vector<void*> to;
  for (const HostTensor& output : outputs) to.push_back(output.data.get());
  const std::vector<const void*> from = {x.data.get()};
  std::atomic<int> seen[3] = {0, 0, 0};
  const auto before = [&](const Task& task) {
    if (!task.node.valid()) return;
    const int stream = executable->model().graph[task.node].memory.stream;
    seen[stream] = kernels::Threads();
  };
  ASSERT_TRUE(run.Run(streams, {.first = 3, .others = 2}, addresses,
                      {.inputs = from, .outputs = to}, before)
                  .ok());
  EXPECT_EQ(seen[0], 3);
  EXPECT_EQ(seen[1], 2);
  EXPECT_EQ(seen[2], 2);
}

TEST(StreamedSchedulesTest, StreamsOfTheFileUseTheSessionsThreads) {
  SessionOptions options = WithoutPasses();
  options.threads = 3;
  const auto session = MakeSession(options);
  MustRun(*session, MustAdd(*session, NotedCopies(2)), {Random({4}, 3)});
  int ran = 0;
  for (const KernelNote& note : KernelNotes::Of().Take()) {
    EXPECT_EQ(note.threads, 3) << "on every stream";
    ran += note.ran ? 1 : 0;
  }
  EXPECT_EQ(ran, 2);
}

}  // namespace streamed_schedules_test
}  // namespace plimsoll::engine
