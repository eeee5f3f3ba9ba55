#include <gtest/gtest.h>

#include <atomic>

#include "engine/streams/streamed_graphs_for_tests.h"
#include "plimsoll/device/watched_device.h"

// Runs on several streams that are cancelled, refused by a kernel, or failed by the device: they
// end with the reason, and the next one is right.
namespace plimsoll::engine {
namespace streamed_run_faults_test {

using compile::FloatTensor;
using compile::With;
using graph::DataType;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

constexpr int64_t kSide = kBraidSide;

// Cancelled before each of its tasks in turn.
TEST(StreamedRunFaultsTest, ACancelledRunEndsAndTheNextOneIsRight) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const auto session = MakeSession(WithoutPasses());
  const GraphId id = MustAdd(*session, Braid(3));
  const std::vector<HostTensor> inputs = {Random({kSide, kSide}, 3)};
  const auto expected = MustRun(*session, id, inputs);
  const auto executable = *session->Compile(id, Views(inputs));
  const StreamedRun run(executable);
  const auto cpu = std::make_shared<device::CpuDevice>();
  const auto device = std::make_shared<ScheduledDevice>(cpu, std::vector<size_t>{2, 0, 1});
  StreamSet streams(device, device->Current());
  ASSERT_TRUE(streams.Grow(3).ok());
  const HostTensor arena =
      *kernels::AllocateOnHeap(DataType::kUint8, {executable->program().total().value()});
  auto addresses = BindTo(*executable, arena);
  const std::vector<HostTensor> outputs = CopiesOf(expected);
  std::vector<void*> to;
  for (const HostTensor& output : outputs) to.push_back(output.data.get());
  const std::vector<const void*> from = {inputs[0].data.get()};
  const auto tasks = static_cast<int>(executable->program().tasks.size());
  std::atomic<bool> cancelled = false;
  const Executable::Call call{.inputs = from, .outputs = to, .cancelled = &cancelled};
  for (int last = 0; last < tasks; ++last) {
    int begun = 0;
    cancelled = false;
    const auto before = [&](const Task&) { cancelled = begun++ == last || cancelled; };
    const Status done = run.Run(streams, {}, addresses, call, before);
    EXPECT_EQ(CodeOf(done), last + 1 < tasks ? "run.cancelled" : "");
    EXPECT_EQ(begun, last + 1) << "nothing begins once the run is cancelled";
    EXPECT_EQ(device->events(), 0);
  }
  const auto again = MustRun(*session, id, inputs);
  ASSERT_EQ(again.size(), expected.size());
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(BytesOf(again[i]), BytesOf(expected[i]));
}

// Three streams, of which the second gathers a row that the caller names.
Graph GathersOnStream1() {
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
  return builder.Build();
}

// A kernel of one stream refuses its data while the others work.
TEST(StreamedRunFaultsTest, AnErrorOfOneStreamIsTheErrorOfTheRun) {
  const auto session = MakeSession(WithoutPasses());
  const GraphId id = MustAdd(*session, GathersOnStream1());
  for (const int64_t row : {1, 1000, 2}) {
    const auto outputs = session->RunValues(id, Values({Random({kSide, kSide}, 3), Integer(row)}));
    ASSERT_EQ(outputs.ok(), row < kSide);
    if (!outputs.ok()) {
      EXPECT_NE(outputs.error().Text().find("Gather"), std::string::npos);
    }
  }
}

TEST(StreamedRunFaultsTest, NothingBeginsOnOtherStreamsOnceOneHasFailed) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const std::vector<HostTensor> inputs = {Random({kSide, kSide}, 3), Integer(1000)};
  const auto session = MakeSession(WithoutPasses());
  const auto executable = *session->Compile(MustAdd(*session, GathersOnStream1()), Views(inputs));
  const StreamedRun run(executable);
  const auto device = std::make_shared<ScheduledDevice>(std::make_shared<device::CpuDevice>(),
                                                        std::vector<size_t>{1, 0, 2});
  StreamSet streams(device, device->Current());
  ASSERT_TRUE(streams.Grow(3).ok());
  const HostTensor arena =
      *kernels::AllocateOnHeap(DataType::kUint8, {executable->program().total().value()});
  auto addresses = BindTo(*executable, arena);
  const std::vector<HostTensor> outputs = CopiesOf({inputs[0], inputs[0], inputs[0]});
  std::vector<void*> to;
  for (const HostTensor& output : outputs) to.push_back(output.data.get());
  const std::vector<const void*> from = {inputs[0].data.get(), inputs[1].data.get()};
  std::vector<std::string> begun;
  const auto before = [&](const Task& task) {
    if (task.node.valid()) begun.push_back(executable->model().graph[task.node].op);
  };
  const Status failed = run.Run(streams, {}, addresses, {.inputs = from, .outputs = to}, before);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().Text().find("Gather"), std::string::npos);
  EXPECT_EQ(begun, (std::vector<std::string>{"MatMul", "Gather"}));
}

TEST(StreamedRunFaultsTest, EachDeviceCallFailsOnceAndTheSessionGoesOn) {
  const std::vector<HostTensor> inputs = {Random({kSide, kSide}, 3)};
  const auto plain = MakeSession(WithoutPasses());
  const auto expected = MustRun(*plain, MustAdd(*plain, OnOneStream(Braid(3))), inputs);
  bool ended = false;
  int64_t reported = 0;
  for (int64_t call = 0; !ended && call < 1000; ++call) {
    const auto device =
        std::make_shared<device::WatchedDevice>(std::make_shared<device::CpuDevice>());
    SessionOptions options = WithoutPasses();
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

}  // namespace streamed_run_faults_test
}  // namespace plimsoll::engine
