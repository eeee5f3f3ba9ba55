#include <gtest/gtest.h>

#include "engine/debug/debug_for_tests.h"
#include "engine/debug/run_monitor.h"
#include "engine/run/host_side.h"
#include "engine/streams/scheduled_device_for_tests.h"
#include "engine/variables/training_for_tests.h"
#include "plimsoll/device/cpu_device.h"

// op_wait_timeout, op_execute_timeout, stream_sync_timeout, event_sync_timeout (R279 to R282): by a
// clock that stands still unless an operator, or a wait, moves it.
namespace plimsoll::engine {
namespace timeouts_test {

using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A gate that operators stand at until somebody opens it.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    arrived_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void AwaitSomebody() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool arrived_ = false;
  bool open_ = false;
};

class TimeoutsTest : public testing::Test {
 protected:
  static config::Timeouts Limits(std::optional<seconds> execute,
                                 std::optional<milliseconds> stream = {},
                                 std::optional<milliseconds> event = {}) {
    config::Timeouts limits;
    limits.op_execute = execute;
    limits.stream_sync = stream;
    limits.event_sync = event;
    return limits;
  }
  SessionOptions Limited(config::Timeouts timeouts) const {
    SessionOptions options = WithoutPasses();
    options.config.timeouts = timeouts;
    options.clock = clock_;
    return options;
  }
  // The operator takes so long.
  decltype(Misdeed::act) Takes(milliseconds time) const {
    return [clock = clock_, time](const OperatorCall&, Bytes) -> Status {
      clock->Advance(time);
      return {};
    };
  }
  static void ExpectTimeout(const Status& status, const std::string& option,
                            const std::string& where) {
    ASSERT_EQ(CodeOf(status), "run.timeout");
    EXPECT_NE(status.error().why.find(option), std::string::npos) << status.error().Text();
    EXPECT_NE(status.error().where.find(where), std::string::npos) << status.error().Text();
  }
  void ExpectRuns(Session& session, GraphId id) const {
    clock_->sleep_takes_time = false;
    const auto outputs = MustRun(session, id, {Floats({4}, {1, 2, 3, 4})});
    clock_->sleep_takes_time = true;
    EXPECT_EQ(ElementsOf(outputs[0]), (std::vector<float>{-1, -2, -3, -4}));
  }

  const std::shared_ptr<StandingClock> clock_ = std::make_shared<StandingClock>();
};

TEST_F(TimeoutsTest, R280_AnOperatorThatTakesTooLongEndsTheRun) {
  for (const char* device : {"cpu", "far"}) {
    SCOPED_TRACE(device);
    SessionOptions options = Limited(Limits(seconds(90)));
    options.device_name = device;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, WithCopier());
    {
      const ScopedMisdeed slow(Takes(milliseconds(90001)));
      const Status ended = session->RunValues(id, Values({Random({4}, 1)})).status();
      ExpectTimeout(ended, "op_execute_timeout allows 90000 ms", "'middle'");
    }
    const ScopedMisdeed not_slower(Takes(milliseconds(90000)));
    ExpectRuns(*session, id);
  }
}

TEST_F(TimeoutsTest, R280_WithoutALimitAnyTimeIsFine) {
  const auto session = MakeSession(Limited({}));
  const GraphId id = MustAdd(*session, WithCopier());
  const ScopedMisdeed slow(Takes(seconds(1000000)));
  ExpectRuns(*session, id);
}

// Where the calling thread runs the nodes itself; elsewhere they have been sent by then.
TEST_F(TimeoutsTest, R281_ARunThatTakesTooLongEndsAtTheNextNode) {
  SessionOptions options = Limited(Limits({}, milliseconds(60000)));
  options.device_name = "cpu";
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, WithCopier());
  {
    const ScopedMisdeed slow(Takes(milliseconds(60001)));
    const Status ended = session->RunValues(id, Values({Random({4}, 1)})).status();
    ExpectTimeout(ended, "stream_sync_timeout allows 60000 ms", "before node");
    EXPECT_NE(ended.error().where.find("'last'"), std::string::npos);
  }
  ExpectRuns(*session, id);
}

TEST_F(TimeoutsTest, R281_TheLastNodeCountsToo) {
  RegisterCopier();
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId y = builder.Nodes("Copier", {x}, 1, {}, kDebugDomain)[0];
  builder.Output(y);
  Graph graph = builder.Build();
  MakerIn(graph, y).version = 1;
  const auto session = MakeSession(Limited(Limits({}, milliseconds(5))));
  const GraphId id = MustAdd(*session, graph);
  const ScopedMisdeed slow(Takes(milliseconds(6)));
  ExpectTimeout(session->RunValues(id, Values({Random({4}, 1)})).status(), "stream_sync_timeout",
                "stream");
}

TEST_F(TimeoutsTest, R282_WithoutALimitARunMayTakeAnyTime) {
  const auto session = MakeSession(Limited(Limits({}, {}, {})));
  const GraphId id = MustAdd(*session, WithCopier());
  const ScopedMisdeed slow(Takes(seconds(1000000)));
  ExpectRuns(*session, id);
}

TEST_F(TimeoutsTest, R281_NodeByNodeToo) {
  RegisterCopier();
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId copy = builder.Nodes("Copier", {x}, 1, {}, kDebugDomain)[0];
  builder.Output(builder.Node("NonZero", {copy}));
  Graph graph = builder.Build();
  MakerIn(graph, copy).version = 1;
  const auto session = MakeSession(Limited(Limits(seconds(90), milliseconds(5))));
  const GraphId id = MustAdd(*session, graph);
  {
    const ScopedMisdeed slow(Takes(milliseconds(6)));
    ExpectTimeout(session->RunValues(id, Values({Random({4}, 1)})).status(), "stream_sync_timeout",
                  "NonZero");
  }
  const ScopedMisdeed slow(Takes(seconds(91)));
  ExpectTimeout(session->RunValues(id, Values({Random({4}, 1)})).status(), "op_execute_timeout",
                "Copier");
}

// A kernel that hangs on a stream: the limit is told while it hangs, and the run ends behind it.
TEST_F(TimeoutsTest, R281_AStreamThatHangsIsToldAndTheRunEnds) {
  for (const char* device : {"cpu", "far"}) {
    SCOPED_TRACE(device);
    SessionOptions options = Limited(Limits({}, milliseconds(5)));
    options.device_name = device;
    const auto session = MakeSession(options);
    Graph graph = WithCopier();
    graph.nodes[1].memory.stream = 1;
    const GraphId id = MustAdd(*session, graph);
    Gate gate;
    std::string told;
    clock_->on_sleep = [&gate] { gate.AwaitSomebody(); };
    {
      const LogCapture opens([&](LogLevel, std::string_view line) {
        told += line;
        gate.Open();
      });
      const ScopedMisdeed hangs([&gate](const OperatorCall&, Bytes) -> Status {
        gate.Pass();
        return {};
      });
      ExpectTimeout(session->RunValues(id, Values({Random({4}, 1)})).status(),
                    "stream_sync_timeout allows 5 ms", "");  // a stream, or the node behind it
    }
    EXPECT_NE(told.find("'middle'"), std::string::npos) << told;
    EXPECT_NE(told.find("cannot be ended"), std::string::npos) << told;
    clock_->on_sleep = nullptr;
    ExpectRuns(*session, id);
  }
}

// The host waits for the condition of a branch, which the device works out.
TEST_F(TimeoutsTest, R281_AnEventThatDoesNotComeEndsTheRun) {
  constexpr int64_t kMany = 1 << 14;  // too many for the host to work it out itself
  RegisterCopier();
  GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({kMany}));
  const ValueId copy = builder.Nodes("Copier", {x}, 1, {}, kDebugDomain)[0];
  const ValueId most = builder.Node("ReduceMax", {copy}, compile::With("keepdims", int64_t{0}));
  const ValueId condition = builder.Node("Greater", {most, builder.Float32s("zero", {}, {0})});
  graph::Attributes bodies;
  for (const auto& [branch, op] : {std::pair("then_branch", "Neg"), {"else_branch", "Abs"}}) {
    bodies.Set(branch, builder.BeginBody(branch));
    builder.EndBody({builder.Node(op, {x})});
  }
  builder.Output(builder.Node("If", {condition}, bodies));
  Graph graph = builder.Build();
  MakerIn(graph, copy).version = 1;
  SessionOptions options = Limited(Limits({}, {}, milliseconds(5)));
  options.device_name = "far";
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, graph);
  const std::vector<HostTensor> inputs = {Floats({kMany}, std::vector<float>(kMany, 3))};
  Gate gate;
  clock_->on_sleep = [&gate] { gate.AwaitSomebody(); };
  {
    const LogCapture opens([&](LogLevel, std::string_view) { gate.Open(); });
    const ScopedMisdeed hangs([&gate](const OperatorCall&, Bytes) -> Status {
      gate.Pass();
      return {};
    });
    ExpectTimeout(session->RunValues(id, Values(inputs)).status(), "event_sync_timeout allows 5 ms",
                  "stream");
  }
  clock_->on_sleep = nullptr;
  clock_->sleep_takes_time = false;
  EXPECT_EQ(ElementsOf(MustRun(*session, id, inputs)[0]), std::vector<float>(kMany, -3));
}

// Streams that do their work in the caller's thread, all of it when one is waited for, of a device
// that work is sent to or not.
class SentDevice final : public ForwardingDevice {
 public:
  SentDevice(std::shared_ptr<Device> under, bool reachable)
      : ForwardingDevice(std::move(under)), reachable_(reachable) {}
  device::DeviceProperties Properties(Id id) const override {
    device::DeviceProperties properties = ForwardingDevice::Properties(id);
    properties.host_reachable = reachable_;
    return properties;
  }
  Status SynchronizeStream(Id id, device::StreamId) override { return SynchronizeDevice(id); }

 private:
  const bool reachable_;
};

TEST_F(TimeoutsTest, R279_AnOperatorThatWaitsTooLongForOtherStreamsEndsTheRun) {
  for (const bool reachable : {true, false}) {
    SCOPED_TRACE(reachable);
    SessionOptions options = Limited({});  // the default: 120 s
    options.device = std::make_shared<SentDevice>(
        std::make_shared<ScheduledDevice>(std::make_shared<device::CpuDevice>(),
                                          std::vector<size_t>{1, 0}),
        reachable);
    const auto session = MakeSession(options);
    Graph graph = WithCopier();
    graph.nodes[2].memory.stream = 1;
    const GraphId id = MustAdd(*session, graph);
    {
      const ScopedMisdeed slow(Takes(milliseconds(120001)));
      ExpectTimeout(session->RunValues(id, Values({Random({4}, 1)})).status(),
                    "op_wait_timeout allows 120000 ms", "stream 1");
    }
    const ScopedMisdeed not_slower(Takes(seconds(120)));
    ExpectRuns(*session, id);
  }
}

// Every wait takes too long.
class NoPatience final : public TaskMonitor {
 public:
  Status Run(const KernelRun& run) override { return run.queue.Run(run.kernel, run.call); }
  Status CheckRunTime(const Graph&, graph::NodeId) override { return {}; }
  TimePoint Now() override { return {}; }
  Status CheckStreamWait(TimePoint, int) override { return {}; }
  Status Await(Wait, std::string_view, const std::function<Result<bool>()>&) override {
    return Error{ErrorKind::kRunFailed, "run.timeout", "too long", "", "", ""};
  }
};

TEST(HostSideTimeoutTest, WorkThatHasNotBegunIsLeftOut) {
  const auto device = std::make_shared<ScheduledDevice>(std::make_shared<device::CpuDevice>(),
                                                        std::vector<size_t>{});
  StreamSet streams(device, device->Current());
  ASSERT_TRUE(streams.Grow(2).ok());
  NoPatience monitor;
  HostSide side(streams, &monitor);
  bool ran = false;
  const auto work = [&ran]() -> Status {
    ran = true;
    return {};
  };
  ASSERT_TRUE(side.Launch({}, {}, work).ok());
  EXPECT_EQ(CodeOf(side.Finish()), "run.timeout");
  EXPECT_FALSE(ran);
  EXPECT_EQ(CodeOf(side.Finish()), "") << "it is over";
}

// w' = Copier(w + x).
Graph StepWithCopier(bool in_place) {
  RegisterCopier();
  GraphBuilder builder;
  const ValueId w = builder.Input("w", compile::FloatTensor({4}));
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId copied =
      builder.Nodes("Copier", {in_place ? w : builder.Node("Add", {w, x})}, 1, {}, kDebugDomain)[0];
  const ValueId next = in_place ? builder.Node("Add", {copied, x}) : copied;
  builder.Output(builder.Node("Neg", {x}));
  builder.Output(next);
  Graph graph = builder.Build();
  MakerIn(graph, copied).version = 1;
  graph[next].name = "next_w";
  graph.metadata.emplace_back("state", R"({"w": "next_w"})");
  return graph;
}

// Whichever way the plan takes: the step is done, or it is as if it had not begun.
TEST_F(TimeoutsTest, NoStepOfTrainingIsHalfApplied) {
  for (const bool in_place : {false, true}) {
    for (const char* device : {"cpu", "far"}) {
      SCOPED_TRACE(StrCat(device, in_place ? ", in place" : ""));
      SessionOptions options = Limited(Limits(seconds(90), milliseconds(91000)));
      options.config.training = true;
      options.device_name = device;
      const auto session = MakeSession(options);
      const GraphId id = MustAdd(*session, StepWithCopier(in_place));
      MustRun(*session, id, {Floats({4}, {1, 1, 1, 1})});
      {
        const LoggedLines lines;
        const ScopedMisdeed slow(Takes(seconds(1000)));
        const Status ended = session->RunValues(id, Values({Floats({4}, {1, 1, 1, 1})})).status();
        const float expected = ended.ok() ? 2.0F : 1.0F;
        EXPECT_EQ(VariableOf(*session, "w"), std::vector<float>(4, expected));
        EXPECT_EQ(CodeOf(ended), ended.ok() ? "" : "run.timeout");
        if (ended.ok()) {
          EXPECT_FALSE(lines.text().empty()) << "told one way or the other";
        }
      }
      const float before = VariableOf(*session, "w")[0];
      MustRun(*session, id, {Floats({4}, {1, 1, 1, 1})});
      EXPECT_EQ(VariableOf(*session, "w"), std::vector<float>(4, before + 1));
    }
  }
}

TEST_F(TimeoutsTest, ATimeoutLeavesTheTensorsOfTheOperator) {
  const TemporaryFolder folder;
  SessionOptions options = Limited(Limits(seconds(90)));
  options.config.exception_dump = {.mode = config::ExceptionDump::Mode::kCommon,
                                   .folder = folder.path()};
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, WithCopier());
  const ScopedMisdeed slow(Takes(seconds(91)));
  ExpectTimeout(session->RunValues(id, Values({Random({4}, 1)})).status(), "op_execute_timeout",
                "'middle'");
  EXPECT_EQ(FilesBelow(folder.path(), "input.0.npy").size(), 1U);
}

}  // namespace timeouts_test
}  // namespace plimsoll::engine
