#include "engine/profile/session_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "engine/models_for_tests.h"
#include "engine/profile/profiled_session_for_tests.h"
#include "engine/run/poisoned_run.h"
#include "engine/session.h"
#include "engine/session_for_tests.h"
#include "engine/weights/weight_files_for_tests.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/engine/operator.h"
#include "profile/csv/csv_files.h"
#include "profile/csv/memory_rows.h"

// What sessions record of their runs.
namespace plimsoll::engine {
namespace session_profile_test {

using graph::Graph;
using graph::ValueId;
using kernels::HostTensor;
using profile::Event;
using profile::MemoryRow;
using profile::Recording;
using ::testing::HasSubstr;

// Called by the operators of Chain while they run, with the number of the run's operator.
std::function<void(int)>& AtOperator() {
  static std::function<void(int)> act;
  return act;
}
int& OperatorNumber() {
  static int number = 0;
  return number;
}

class TellingCopyKernel final : public OperatorKernel {
 public:
  explicit TellingCopyKernel(Bytes bytes) : bytes_(bytes) {}
  Status Run(const OperatorCall& call) const override {
    std::memcpy(call.outputs[0], call.inputs[0], static_cast<size_t>(bytes_.value()));
    const int number = OperatorNumber()++;
    if (AtOperator()) AtOperator()(number);
    return {};
  }

 private:
  const Bytes bytes_;
};

// Five copies, one behind the other: copy0 to copy4 over 1 KiB. The first reads the caller's input,
// the last writes the caller's output.
Graph Chain() {
  static const bool registered =
      RegisterOperator({.domain = "test.profile",
                        .name = "TellingCopy",
                        .infer_shapes = [](ShapeInference& node) -> Status {
                          node.CopyTypeAndShape(0, 0);
                          return {};
                        },
                        .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
                          return MakeOperatorKernel<TellingCopyKernel>(site.outputs[0].size());
                        }})
          .ok();
  EXPECT_TRUE(registered);
  graph::GraphBuilder builder;
  ValueId value = builder.Input("x", compile::FloatTensor({256}));
  for (int i = 0; i < 5; ++i) {
    value = builder.Nodes("TellingCopy", {value}, 1, {}, "test.profile")[0];
    builder.graph().nodes.back().name = StrCat("copy", i);
  }
  builder.Output(value);
  return builder.Build();
}

// The cells of each row, without the heading; times are "t" where there is one.
std::vector<std::vector<std::string>> Cells(const Recording& recording) {
  const std::string table = profile::OperatorMemoryCsv(recording);
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view line : Split(table, '\n')) {
    std::vector<std::string> cells;
    for (const std::string_view cell : Split(line, ',')) cells.emplace_back(cell);
    if (cells.size() < 10) continue;
    for (const size_t time : {3, 4}) {
      if (!cells[time].empty()) cells[time] = "t";
    }
    rows.push_back(std::move(cells));
  }
  rows.erase(rows.begin());
  return rows;
}

using Row = std::vector<std::string>;

// A plan of two pieces takes just these from the device.
constexpr const char* kReserved = "2.000";

TEST(SessionProfileTest, R85_R86_R87_R88_R90_RowsOfAPlannedRunAreTheLivesOfItsPlan) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const Profiled made;
  const GraphId id = MustAdd(*made.session, Chain());
  made.profile->Start();
  MustRun(*made.session, id, {Random({256}, 1)});
  EXPECT_EQ(
      Cells(made.profile->Take()),
      (std::vector<Row>{
          {"0", "copy0", "1.000", "t", "t", "1.000", kReserved, "1.000", kReserved, "CPU:0"},
          {"0", "copy1", "1.000", "t", "t", "2.000", kReserved, "1.000", kReserved, "CPU:0"},
          {"0", "copy2", "1.000", "t", "t", "2.000", kReserved, "1.000", kReserved, "CPU:0"},
          {"0", "copy3", "1.000", "t", "t", "2.000", kReserved, "0.000", kReserved, "CPU:0"}}));
}

TEST(SessionProfileTest, R91_R92_R93_R96_AWindowOpenedInARunShowsReleasesOfWhatWasThere) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const Profiled made;
  const GraphId id = MustAdd(*made.session, Chain());
  OperatorNumber() = 0;
  AtOperator() = [&](int number) {
    if (number == 2) made.profile->Start();
  };
  MustRun(*made.session, id, {Random({256}, 1)});
  AtOperator() = nullptr;
  EXPECT_EQ(Cells(made.profile->Take()),
            (std::vector<Row>{
                {"0", "", "-1.000", "", "", "", "", "1.000", kReserved, "CPU:0"},
                {"0", "copy3", "1.000", "t", "t", "2.000", kReserved, "0.000", kReserved, "CPU:0"},
                {"0", "", "-1.000", "", "", "", "", "1.000", kReserved, "CPU:0"}}));
}

TEST(SessionProfileTest, R94_R95_R96_AWindowClosedInARunShowsWhatIsHeldWithoutRelease) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const Profiled made;
  const GraphId id = MustAdd(*made.session, Chain());
  Recording recording;
  OperatorNumber() = 0;
  AtOperator() = [&](int number) {
    if (number == 2) recording = made.profile->Take();
  };
  made.profile->Start();
  MustRun(*made.session, id, {Random({256}, 1)});
  AtOperator() = nullptr;
  EXPECT_EQ(Cells(recording),
            (std::vector<Row>{
                {"0", "copy0", "1.000", "t", "t", "1.000", kReserved, "1.000", kReserved, "CPU:0"},
                {"0", "copy1", "1.000", "t", "", "2.000", kReserved, "", "", "CPU:0"},
                {"0", "copy2", "1.000", "t", "", "2.000", kReserved, "", "", "CPU:0"}}));
}

// Totals of every row follow from the rows alone; times increase.
void ExpectReplays(const Recording& recording) {
  struct Change {
    int64_t time = 0;
    int64_t bytes = 0;
    int64_t told = 0;
  };
  std::vector<Change> changes;
  int64_t last = -1;
  for (const MemoryRow& row : profile::OperatorRows(recording)) {
    EXPECT_EQ(row.bytes % 512, 0);
    if (row.allocation) {
      EXPECT_GT(row.allocation->time, last);
      last = row.allocation->time;
      changes.push_back({row.allocation->time, row.bytes, row.allocation->totals.allocated});
    }
    if (row.release) {
      changes.push_back({row.release->time, -row.bytes, row.release->totals.allocated});
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time < b.time; });
  int64_t now = recording.before[0].allocated;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (i > 0) {
      EXPECT_GT(changes[i].time, changes[i - 1].time);
    }
    now += changes[i].bytes;
    EXPECT_EQ(now, changes[i].told);
  }
}

int64_t PeakOf(const Recording& recording) {
  int64_t peak = 0;
  for (const MemoryRow& row : profile::OperatorRows(recording)) {
    if (row.allocation) peak = std::max(peak, row.allocation->totals.allocated);
  }
  return peak;
}

TEST(SessionProfileTest, R87_ThePeakOfAllocatedIsTheLivePeakOfTheRun) {
  struct Case {
    Graph graph;
    std::vector<HostTensor> inputs;
  };
  std::vector<Case> cases;
  cases.push_back({ConvolutionalNetwork(), {Random({1, 3, 20, 20}, 1)}});
  cases.push_back({TransformerLayer(2, 6), {Random({2, 6, kModelWidth}, 2)}});
  for (Case& one : cases) {
    const Profiled made;
    const GraphId id = MustAdd(*made.session, std::move(one.graph));
    const auto executable = made.session->Compile(id, Views(one.inputs));
    ASSERT_TRUE(executable.ok() && *executable != nullptr);
    made.profile->Start();
    const std::vector<HostTensor> outputs = MustRun(*made.session, id, one.inputs);
    const Recording recording = made.profile->Take();
    ExpectReplays(recording);
    std::vector<const void*> from;
    for (const HostTensor& input : one.inputs) from.push_back(input.data.get());
    std::vector<void*> to;
    for (const HostTensor& output : outputs) to.push_back(output.data.get());
    const auto poisoned = RunPoisoned(**executable, {.inputs = from, .outputs = to});
    ASSERT_TRUE(poisoned.ok());
    EXPECT_EQ(PeakOf(recording), poisoned->live_peak.value());
    EXPECT_GT(PeakOf(recording), 0);
    std::set<std::string> names;
    for (const graph::Node& node : (*executable)->model().graph.nodes) names.insert(node.name);
    for (const MemoryRow& row : profile::OperatorRows(recording)) {
      EXPECT_TRUE(row.release) << recording.Name(row.name);
      EXPECT_TRUE(names.contains(recording.Name(row.name))) << recording.Name(row.name);
    }
  }
}

TEST(SessionProfileTest, EveryOperatorOfARunIsRecordedWithItsKernel) {
  const Profiled made;
  const GraphId id = MustAdd(*made.session, Chain());
  made.profile->Start();
  for (int i = 0; i < 2; ++i) MustRun(*made.session, id, {Random({256}, 1)});
  const Recording recording = made.profile->Take();
  std::map<std::string, std::vector<int>> steps;
  for (const Event& event : recording.events) {
    if (event.kind != Event::Kind::kOperator) continue;
    steps[recording.Name(event.name)].push_back(event.step);
    EXPECT_EQ(recording.Plan(event.plan)->operators[event.item].read, 1024);
  }
  EXPECT_EQ(steps.size(), 5U);
  for (const auto& [name, ran] : steps) EXPECT_EQ(ran, (std::vector<int>{0, 1})) << name;
}

TEST(SessionProfileTest, R89_MemoryOfTheCallersHasNoRow) {
  const Profiled made;
  const GraphId id = MustAdd(*made.session, AddOne({256}));
  made.profile->Start();
  MustRun(*made.session, id, {Random({256}, 1)});
  EXPECT_TRUE(Cells(made.profile->Take()).empty());
}

// Relu, then the places of what is not zero, whose number only data tells.
Graph NodeByNode() {
  graph::GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({256}));
  const ValueId y = builder.Node("Relu", {x});
  builder.graph().nodes.back().name = "relu";
  const ValueId places = builder.Node("NonZero", {y});
  builder.graph().nodes.back().name = "places";
  builder.Output(places);
  return builder.Build();
}

TEST(SessionProfileTest, R89_TensorsBetweenNodesAreRowsOfTheirOperatorWhereTheHostIsTheDevice) {
  const Profiled made;
  const GraphId id = MustAdd(*made.session, NodeByNode());
  made.profile->Start();
  auto outputs = MustRunValues(*made.session, id, Values({Random({256}, 1)}));
  outputs.clear();
  const Recording recording = made.profile->Take();
  ExpectReplays(recording);
  std::map<std::string, int> rows;
  for (const MemoryRow& row : profile::OperatorRows(recording)) {
    ++rows[recording.Name(row.name)];
    EXPECT_TRUE(row.allocation && row.release);
    EXPECT_LE(row.allocation->totals.allocated, row.allocation->totals.reserved);
  }
  if (HostReachesDefaultDevice()) {
    EXPECT_GE(rows["relu"], 1);
    EXPECT_GE(rows["places"], 1);
  } else {
    EXPECT_TRUE(rows.empty());
  }
}

TEST(SessionProfileTest, OnSeveralStreamsEveryPieceGoesBackAndNoMoreIsHeldThanPlanned) {
  Graph graph = ConvolutionalNetwork();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    graph.nodes[i].memory.stream = static_cast<int>(i % 3);
  }
  const Profiled made;
  const GraphId id = MustAdd(*made.session, std::move(graph));
  made.profile->Start();
  for (int i = 0; i < 20; ++i) MustRun(*made.session, id, {Random({1, 3, 20, 20}, 1)});
  const Recording recording = made.profile->Take();
  ExpectReplays(recording);
  std::set<int> streams;
  for (const Event& event : recording.events) streams.insert(event.stream);
  EXPECT_GT(streams.size(), 1U);
  for (const MemoryRow& row : profile::OperatorRows(recording)) {
    EXPECT_TRUE(row.allocation && row.release) << recording.Name(row.name);
  }
  if (HostReachesDefaultDevice()) {
    EXPECT_LE(PeakOf(recording), made.session->Memory(id)->planned_peak.value());
  }
}

TEST(SessionProfileTest, ARunThatFailsHoldsNothingAfterwards) {
  const Profiled made;
  const GraphId id = MustAdd(*made.session, Chain());
  const HostTensor input = Random({256}, 1);
  const HostTensor output = Random({256}, 2);
  const std::atomic<bool> cancelled = true;
  made.profile->Start();
  const auto read = Views({input});
  const auto written = Views({output});
  EXPECT_FALSE(made.session->Run(id, read, written, {.cancelled = &cancelled}).ok());
  made.profile->Take();
  EXPECT_EQ(made.profile->recorder()->counters().now.allocated, 0);
}

std::vector<std::string> FilesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(SessionProfileTest, R83_R235_ProfilingConfigWritesOneTableWhenTheSessionEnds) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / StrCat("plimsoll_profile_", getpid());
  std::filesystem::remove_all(folder);
  SessionOptions options;
  options.config.profiling = {true, StrCat("{\"output\": \"", folder.string(),
                                           "\", \"device\": \"NPU\", \"task_trace\": \"on\"}")};
  {
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, ConvolutionalNetwork());
    for (int i = 0; i < 3; ++i) MustRun(*session, id, {Random({1, 3, 20, 20}, 1)});
  }
  const std::vector<std::string> files = FilesIn(folder);
  ASSERT_EQ(files.size(), 6U);
  EXPECT_THAT(files[0], ::testing::MatchesRegex("memory_record_[0-9]+\\.csv"));
  EXPECT_THAT(files[1], ::testing::MatchesRegex("operator_memory_[0-9]+\\.csv"));
  EXPECT_THAT(files[2], ::testing::MatchesRegex("report_[0-9]+\\.html"));
  EXPECT_THAT(files[5], ::testing::MatchesRegex("trace_[0-9]+\\.json"));
  std::ifstream table(folder / files[1]);
  const std::string text{std::istreambuf_iterator<char>(table), {}};
  EXPECT_THAT(text, HasSubstr(",NPU:0\n"));
  std::filesystem::remove_all(folder);
}

TEST(SessionProfileTest, OptionsOfTheRecorderAreChecked) {
  EXPECT_EQ(ParseProfileOptions("")->folder, "");
  EXPECT_EQ(ParseProfileOptions("{\"memory_limit\": \"2MiB\"}")->limit, MiB(2));
  for (const char* text : {"on", "[1]", "{\"output\": 3}", "{\"memory_limit\": \"much\"}"}) {
    const auto parsed = ParseProfileOptions(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, "profile.options");
  }
  EXPECT_THAT(ParseProfileOptions("{\"ouput\": \"x\"}").error().Text(),
              HasSubstr("did you mean 'output'?"));
  SessionOptions options;
  options.config.profiling = {true, "{\"ouput\": \"x\"}"};
  EXPECT_EQ(CodeOf(Session::Create(options).status()), "profile.options");
}

}  // namespace session_profile_test
}  // namespace plimsoll::engine
