#include "engine/debug/exception_dump.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/debug/debug_for_tests.h"
#include "engine/file_size_limit_for_tests.h"
#include "engine/streams/streamed_graphs_for_tests.h"

// enable_exception_dump (R131 to R136): tensors of an operator that fails.
namespace plimsoll::engine {
namespace exception_dump_test {

using config::ExceptionDump;
using graph::Graph;
using graph::GraphBuilder;
using graph::ValueId;
using kernels::HostTensor;

Error Refusal() {
  return {.kind = ErrorKind::kRunFailed,
          .code = "test.refused",
          .what = "the operator refuses",
          .where = "",
          .why = "it was told to",
          .remedy = "tell it otherwise"};
}

Status Refuse(const OperatorCall&, Bytes) { return Refusal(); }

class ExceptionDumpTest : public testing::Test {
 protected:
  SessionOptions Dumping(ExceptionDump::Mode mode) const {
    SessionOptions options = WithoutPasses();
    options.config.exception_dump = {.mode = mode, .folder = folder_.path()};
    return options;
  }
  Error MustFail(Session& session, const Graph& graph, const std::vector<HostTensor>& inputs) {
    const auto outputs = session.RunValues(MustAdd(session, graph), Values(inputs));
    EXPECT_FALSE(outputs.ok());
    return outputs.ok() ? Error() : outputs.error();
  }

  TemporaryFolder folder_;
};

TEST_F(ExceptionDumpTest, R131_ZeroWritesNothing) {
  const auto session = MakeSession(Dumping(ExceptionDump::Mode::kOff));
  const ScopedMisdeed refuses(Refuse);
  EXPECT_EQ(MustFail(*session, WithCopier(), {Random({4}, 1)}).Text(), Refusal().Text());
  EXPECT_EQ(FilesBelow(folder_.path()), std::vector<std::string>());
}

TEST_F(ExceptionDumpTest, R132_R133_OneWritesTensorsDescriptionsAndWorkspace) {
  const auto session = MakeSession(Dumping(ExceptionDump::Mode::kCommon));
  const ScopedMisdeed refuses(Refuse);
  const Error error = MustFail(*session, WithCopier(), {Floats({4}, {1, 2, 3, 4})});
  const std::filesystem::path made = OnlyFolderIn(folder_.path());
  EXPECT_TRUE(made.filename().string().starts_with("exception_info.Copier.middle."));
  EXPECT_EQ(FilesBelow(made), (std::vector<std::string>{"description.json", "input.0.npy",
                                                        "output.0.npy", "workspace.bin"}));
  ExpectFloatFile(made / "input.0.npy", {4}, {1, 2, 3, 4});
  ExpectFloatFile(made / "output.0.npy", {4}, {1, 2, 3, 4});
  EXPECT_EQ(ContentOf(made / "workspace.bin"), std::string(64, '\7'));
  const auto json = nlohmann::json::parse(ContentOf(made / "description.json"));
  EXPECT_EQ(json["node"], "middle");
  EXPECT_EQ(json["code"], "test.refused");
  ASSERT_EQ(json["tensors"].size(), 2U);
  EXPECT_EQ(json["tensors"][0]["shape"], nlohmann::json::array({4}));
  EXPECT_EQ(json["tensors"][0]["type"], "float32");
  EXPECT_EQ(json["tensors"][1]["format"], "ND");
  // The error is the operator's, and says where to look.
  EXPECT_EQ(error.code, "test.refused");
  EXPECT_EQ(error.why, "it was told to");
  EXPECT_NE(error.remedy.find(made.string()), std::string::npos) << error.Text();
}

TEST_F(ExceptionDumpTest, R134_R135_TwoWritesTilingBelowTheDevice) {
  const auto session = MakeSession(Dumping(ExceptionDump::Mode::kLite));
  const ScopedMisdeed refuses(Refuse);
  MustFail(*session, WithCopier(), {Floats({4}, {1, 2, 3, 4})});
  const std::filesystem::path made =
      OnlyFolderIn(folder_.path() / "extra-info" / "data-dump" / "0");
  EXPECT_EQ(FilesBelow(made), (std::vector<std::string>{"input.0.npy", "output.0.npy",
                                                        "tiling.json", "workspace.bin"}));
  const auto json = nlohmann::json::parse(ContentOf(made / "tiling.json"));
  EXPECT_EQ(json["workspace_bytes"], 64);
  EXPECT_TRUE(json.contains("implementation"));
}

TEST_F(ExceptionDumpTest, R133_R135_FoldersWithoutAName) {
  EXPECT_EQ(ExceptionFolder({.mode = ExceptionDump::Mode::kCommon, .folder = ""}, 3), ".");
  EXPECT_EQ(ExceptionFolder({.mode = ExceptionDump::Mode::kLite, .folder = ""}, 3),
            "./extra-info/data-dump/3");
}

TEST_F(ExceptionDumpTest, EachFailureHasItsOwnFolder) {
  const auto session = MakeSession(Dumping(ExceptionDump::Mode::kCommon));
  const GraphId id = MustAdd(*session, WithCopier());
  {
    const ScopedMisdeed refuses(Refuse);
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(session->RunValues(id, Values({Random({4}, 1)})).ok());
    }
  }
  EXPECT_EQ(FilesBelow(folder_.path(), "input.0.npy").size(), 3U);
  MustRun(*session, id, {Random({4}, 1)});
  EXPECT_EQ(FilesBelow(folder_.path(), "input.0.npy").size(), 3U) << "a run that succeeds";
}

TEST_F(ExceptionDumpTest, AFullDiskLeavesTheOperatorsErrorAndSaysSo) {
  const auto session = MakeSession(Dumping(ExceptionDump::Mode::kCommon));
  const ScopedMisdeed refuses(Refuse);
  const FileSizeLimit full(10);
  const Error error = MustFail(*session, WithCopier(), {Random({4}, 1)});
  EXPECT_EQ(error.code, "test.refused");
  EXPECT_NE(error.remedy.find("could not be written"), std::string::npos) << error.Text();
  EXPECT_EQ(FilesBelow(folder_.path()), std::vector<std::string>());
}

// The tensors of a device are fetched when its streams have stopped.
TEST_F(ExceptionDumpTest, OnADeviceOutOfReachAndNodeByNode) {
  for (const bool several_streams : {false, true}) {
    SCOPED_TRACE(several_streams);
    const TemporaryFolder folder;
    SessionOptions options = Dumping(ExceptionDump::Mode::kCommon);
    options.device_name = "far";
    options.config.exception_dump.folder = folder.path();
    Graph graph = WithCopier();
    if (several_streams) graph.nodes[1].memory.stream = 1;
    const auto session = MakeSession(options);
    const ScopedMisdeed refuses(Refuse);
    const Error error = MustFail(*session, graph, {Floats({4}, {1, 2, 3, 4})});
    EXPECT_EQ(error.code, "test.refused");
    const std::filesystem::path made = OnlyFolderIn(folder.path());
    EXPECT_NE(error.remedy.find(made.string()), std::string::npos) << error.Text();
    ExpectFloatFile(made / "input.0.npy", {4}, {1, 2, 3, 4});
    // With several streams a small workspace lies on the kernel's stack.
    if (!several_streams) {
      EXPECT_EQ(ContentOf(made / "workspace.bin"), std::string(64, '\7'));
    }
  }
  GraphBuilder builder;
  RegisterCopier();
  const ValueId x = builder.Input("x", compile::FloatTensor({4}));
  const ValueId places = builder.Node("NonZero", {x});
  const ValueId copy = builder.Nodes("Copier", {places}, 1, {}, kDebugDomain)[0];
  builder.Output(copy);
  Graph graph = builder.Build();
  MakerIn(graph, copy).version = 1;
  const auto session = MakeSession(Dumping(ExceptionDump::Mode::kCommon));
  const ScopedMisdeed refuses(Refuse);
  EXPECT_EQ(MustFail(*session, graph, {Floats({4}, {0, 2, 0, 4})}).code, "test.refused");
  const auto files = FilesBelow(OnlyFolderIn(folder_.path()), ".npy");
  EXPECT_EQ(files, (std::vector<std::string>{"input.0.npy", "output.0.npy"}));
}

}  // namespace exception_dump_test
}  // namespace plimsoll::engine
