#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "engine/session_for_tests.h"
#include "onnx/wire/temporary_folder_for_tests.h"
#include "onnx/wire/wire_writer_for_tests.h"
#include "plimsoll/base/text.h"
#include "plimsoll/engine/operator.h"
#include "plimsoll/engine/session.h"

// Windows that a program opens and closes, also in the middle of a run, and what their tables say.
namespace plimsoll {
namespace profiling_window_test {
namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

// Called by each copy while it runs, with its number in the run.
std::function<void(int)>& AtCopy() {
  static std::function<void(int)> act;
  return act;
}
int& CopyNumber() {
  static int number = 0;
  return number;
}

class WindowCopy final : public OperatorKernel {
 public:
  explicit WindowCopy(Bytes bytes) : bytes_(bytes) {}
  Status Run(const OperatorCall& call) const override {
    std::memcpy(call.outputs[0], call.inputs[0], static_cast<size_t>(bytes_.value()));
    const int number = CopyNumber()++;
    if (AtCopy()) AtCopy()(number);
    return {};
  }

 private:
  const Bytes bytes_;
};

// x float32[n,3], copied five times, by copy0 to copy4. Copies are made neither in place nor in
// the memory of the caller's, save the last.
Model FiveCopies() {
  static const bool registered =
      RegisterOperator({.domain = "test.window",
                        .name = "Copy",
                        .infer_shapes = [](ShapeInference& node) -> Status {
                          node.CopyTypeAndShape(0, 0);
                          return {};
                        },
                        .make_kernel = [](OperatorSite& site) -> Result<OperatorKernelPointer> {
                          return MakeOperatorKernel<WindowCopy>(site.outputs[0].size());
                        }})
          .ok();
  EXPECT_TRUE(registered);
  const std::vector<std::string> values = {"x", "a", "b", "c", "d", "y"};
  std::vector<onnx::Message> nodes;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    nodes.push_back(
        onnx::NodeMessage("Copy", {values[i]}, {values[i + 1]}, StrCat("copy", i), "test.window"));
  }
  onnx::Message message = onnx::ModelOf(onnx::GraphOf(nodes));
  message.Put(onnx::schema::model::kOpsetImport, onnx::Opset("test.window", 1));
  const auto text = std::make_shared<const std::string>(message.bytes());
  auto model = Model::FromBytes(std::as_bytes(std::span(*text)), text);
  EXPECT_TRUE(model.ok()) << model.error().Text();
  return *model;
}

// Runs of the copies over 1 KiB and a half: 128 rows of 3 floats.
struct Copies {
  explicit Copies(const SessionOptions& options = {.profiling = true})
      : session(*Session::Create(options)), graph(*session.Add(FiveCopies())) {
    inputs = *session.MakeInputs(graph, {{"n", {128}}});
    outputs = *session.MakeOutputs(graph, ConstViewsOf(inputs));
  }
  void Run(const std::function<void(int)>& at_copy = {}) {
    CopyNumber() = 0;
    AtCopy() = at_copy;
    const Status ran = session.Run(graph, ConstViewsOf(inputs), ViewsOf(outputs));
    EXPECT_TRUE(ran.ok()) << ran.error().Text();
    AtCopy() = nullptr;
  }

  Session session;
  GraphId graph;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

// The cells of a table without its heading; times are "t" where there is one.
Rows CellsIn(const std::string& path) {
  std::ifstream file(path);
  Rows rows;
  for (std::string line; std::getline(file, line);) {
    Row cells;
    for (const std::string_view cell : Split(line, ',')) cells.emplace_back(cell);
    for (const size_t time : {3, 4}) {
      if (!cells.at(time).empty()) cells[time] = "t";
    }
    rows.push_back(std::move(cells));
  }
  EXPECT_FALSE(rows.empty()) << path;
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

Row Whole(const char* name, const char* taken, const char* left) {
  return {"0", name, "1.500", "t", "t", taken, "3.000", left, "3.000", "CPU:0"};
}
Row Held(const char* name, const char* taken) {
  return {"0", name, "1.500", "t", "", taken, "3.000", "", "", "CPU:0"};
}
Row Released(const char* left) {
  return {"0", "", "-1.500", "", "", "", "", left, "3.000", "CPU:0"};
}

TEST(ProfilingWindowTest, R91_R92_R93_R94_R95_R96_OpenedAndClosedInsideOneRun) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const onnx::TemporaryFolder folder;
  Copies copies;
  copies.Run();
  Status opened;
  Result<ProfilingFiles> files = ProfilingFiles();
  copies.Run([&](int number) {
    if (number == 1) opened = copies.session.StartProfiling();
    if (number == 3) files = copies.session.StopProfiling(folder.path().string());
  });
  EXPECT_TRUE(opened.ok());
  ASSERT_TRUE(files.ok()) << files.error().Text();
  // Inside copy1 the memory of copy0 and copy1 is held; inside copy3 that of copy2 and copy3.
  EXPECT_EQ(CellsIn(files->operator_memory), (Rows{Released("1.500"), Held("copy2", "3.000"),
                                                   Released("1.500"), Held("copy3", "3.000")}));
}

TEST(ProfilingWindowTest, R91_R93_OpenedInARunAndClosedBehindIt) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const onnx::TemporaryFolder folder;
  Copies copies;
  Status opened;
  copies.Run([&](int number) {
    if (number == 2) opened = copies.session.StartProfiling();
  });
  const auto files = copies.session.StopProfiling(folder.path().string());
  ASSERT_TRUE(files.ok()) << files.error().Text();
  EXPECT_EQ(CellsIn(files->operator_memory),
            (Rows{Released("1.500"), Whole("copy3", "3.000", "0.000"), Released("1.500")}));
}

TEST(ProfilingWindowTest, R94_R95_OpenedBeforeARunAndClosedInIt) {
  SKIP_UNLESS_HOST_REACHES_DEVICE();
  const onnx::TemporaryFolder folder;
  Copies copies;
  ASSERT_TRUE(copies.session.StartProfiling().ok());
  Result<ProfilingFiles> files = ProfilingFiles();
  copies.Run([&](int number) {
    if (number == 1) files = copies.session.StopProfiling(folder.path().string());
  });
  ASSERT_TRUE(files.ok()) << files.error().Text();
  EXPECT_EQ(CellsIn(files->operator_memory),
            (Rows{Held("copy0", "1.500"), Held("copy1", "3.000")}));
  // What comes behind it is in the next window, whole.
  ASSERT_TRUE(copies.session.StartProfiling().ok());
  copies.Run();
  const auto next = copies.session.StopProfiling(folder.path().string());
  ASSERT_TRUE(next.ok()) << next.error().Text();
  EXPECT_EQ(CellsIn(next->operator_memory),
            (Rows{Whole("copy0", "1.500", "1.500"), Whole("copy1", "3.000", "1.500"),
                  Whole("copy2", "3.000", "1.500"), Whole("copy3", "3.000", "0.000")}));
}

TEST(ProfilingWindowTest, AWindowLeavesEveryFileAndThePage) {
  const onnx::TemporaryFolder folder;
  Copies copies;
  ASSERT_TRUE(copies.session.StartProfiling().ok());
  copies.Run();
  const auto files = copies.session.StopProfiling(folder.path().string());
  ASSERT_TRUE(files.ok()) << files.error().Text();
  for (const std::string& file :
       {files->operator_memory, files->memory_record, files->static_op_mem, files->trace,
        files->snapshot, files->report}) {
    EXPECT_TRUE(std::filesystem::is_regular_file(file)) << file;
  }
  EXPECT_EQ(files->dropped_events, 0);
}

TEST(ProfilingWindowTest, NothingIsWrittenOfRunsOutsideOfWindows) {
  const onnx::TemporaryFolder folder;
  {
    Copies copies({.config = {{"profiling_config.profiling_options",
                               StrCat("{\"output\": \"", folder.path().string(), "\"}")}},
                   .profiling = true});
    copies.Run();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ProfilingWindowTest, AWindowThatIsOpenWhenTheSessionGoesIsWrittenThen) {
  const onnx::TemporaryFolder folder;
  {
    Copies copies({.config = {{"profiling_config.profiling_options",
                               StrCat("{\"output\": \"", folder.path().string(), "\"}")}},
                   .profiling = true});
    ASSERT_TRUE(copies.session.StartProfiling().ok());
    copies.Run();
  }
  const auto files = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 6);
}

TEST(ProfilingWindowTest, WhatCannotBeDoneIsRefused) {
  Copies plain{SessionOptions()};
  EXPECT_EQ(plain.session.StartProfiling().error().code, "profile.off");
  EXPECT_EQ(plain.session.StopProfiling().error().code, "profile.closed");
  Copies counting;
  EXPECT_EQ(counting.session.StopProfiling().error().code, "profile.closed");
  EXPECT_TRUE(counting.session.StartProfiling().ok());
  EXPECT_TRUE(counting.session.StartProfiling().ok()) << "nothing changes where one is open";
  const auto files = counting.session.StopProfiling("/proc/nowhere");
  EXPECT_EQ(files.error().code, "profile.write");
}

}  // namespace
}  // namespace profiling_window_test
}  // namespace plimsoll
