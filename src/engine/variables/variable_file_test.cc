#include "engine/variables/variable_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "engine/file_size_limit_for_tests.h"
#include "engine/variables/training_for_tests.h"
#include "engine/variables/variable_file_format.h"
#include "engine/weights/file_replacement.h"
#include "onnx/wire/temporary_folder_for_tests.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/watched_device.h"

namespace plimsoll::engine {
namespace variable_file_test {

namespace fs = std::filesystem;
using Elements = std::vector<float>;
using kernels::HostTensor;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class VariableFileTest : public testing::Test {
 protected:
  void SetUp() override {
    id_ = MustAdd(*session_, MomentumStep());
    MustSet(*session_, "w", Floats({4}, {1, 2, 3, 4}));
    MustRun(*session_, id_, {Floats({4}, {0, 0, 0, 4})});
  }
  // Nothing of a refused restore is to be seen.
  void ExpectAsSaved() {
    EXPECT_EQ(VariableOf(*session_, "w"), (Elements{1, 2, 3, 3}));
    EXPECT_EQ(VariableOf(*session_, "m"), (Elements{0, 0, 0, 4}));
    EXPECT_EQ(session_->variables().steps(), 1);
  }
  void ExpectRefused(const fs::path& path, const std::string& why) {
    const Status restored = session_->variables().Restore(path);
    ASSERT_FALSE(restored.ok()) << why;
    EXPECT_EQ(restored.error().code, "variables.file");
    EXPECT_EQ(restored.error().kind, ErrorKind::kBadFile);
    EXPECT_NE(restored.error().Text().find(why), std::string::npos) << restored.error().Text();
  }

  const onnx::TemporaryFolder folder_;
  const fs::path path_ = folder_.path() / "state.plv";
  const std::unique_ptr<Session> session_ = MakeSession(Training());
  GraphId id_;
};

TEST_F(VariableFileTest, WhatIsSavedComesBackAlsoInAnotherSession) {
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  const std::string first = ReadFile(path_);
  MustRun(*session_, id_, {Floats({4}, {9, 9, 9, 9})});
  EXPECT_EQ(session_->variables().steps(), 2);
  ASSERT_EQ(CodeOf(session_->variables().Restore(path_)), "");
  ExpectAsSaved();
  const auto other = MakeSession(Training());
  MustAdd(*other, MomentumStep());
  ASSERT_EQ(CodeOf(other->variables().Restore(path_)), "");
  EXPECT_EQ(VariableOf(*other, "w"), (Elements{1, 2, 3, 3}));
  EXPECT_EQ(other->variables().steps(), 1);
  ASSERT_EQ(CodeOf(other->variables().Save(path_)), "");
  EXPECT_EQ(ReadFile(path_), first) << "the same variables make the same file";
  EXPECT_FALSE(fs::exists(folder_.path() / "state.plv.partial"));
}

TEST_F(VariableFileTest, LargeAndEmptyVariablesOfOtherTypesComeBack) {
  graph::GraphBuilder builder;
  const auto input = [&](const char* name, graph::DataType type, graph::Shape shape) {
    return builder.Input(name, graph::ValueType::Tensor(type, std::move(shape)));
  };
  const graph::ValueId large = input("large", graph::DataType::kInt64, {700, 901});
  input("none", graph::DataType::kFloat32, {0, 4});
  input("flag", graph::DataType::kBool, {});
  builder.Output(builder.Node("Neg", {large}));
  const auto session = MakeSession();
  const auto id = session->Add(builder.Build(), *ParseVariables("large,none,flag"));
  ASSERT_TRUE(id.ok());
  const kernels::HostTensor elements = Random({700, 901}, 1, graph::DataType::kInt64);
  MustSet(*session, "large", elements);
  MustSet(*session, "flag", Bool(true));
  ASSERT_EQ(CodeOf(session->variables().Save(path_)), "");
  MustSet(*session, "large", Random({700, 901}, 2, graph::DataType::kInt64));
  MustSet(*session, "flag", Bool(false));
  ASSERT_EQ(CodeOf(session->variables().Restore(path_)), "");
  EXPECT_EQ(VariableOf(*session, "large"), ElementsOf(elements));
  EXPECT_EQ(VariableOf(*session, "flag"), Elements(1, 1));
}

TEST_F(VariableFileTest, AFileThatWasCutAnywhereIsRefused) {
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  const std::string whole = ReadFile(path_);
  for (size_t size = 0; size < whole.size(); ++size) {
    folder_.Write("cut.plv", whole.substr(0, size));
    ExpectRefused(folder_.path() / "cut.plv", "bytes");
  }
  folder_.Write("cut.plv", whole + "x");
  ExpectRefused(folder_.path() / "cut.plv", "bytes");
  ExpectAsSaved();
}

TEST_F(VariableFileTest, AFileInWhichAnyByteThatCountsWasChangedIsRefused) {
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  const std::string whole = ReadFile(path_);
  MustRun(*session_, id_, {Floats({4}, {1, 1, 1, 1})});
  int accepted = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    folder_.Write("changed.plv", changed);
    const Status restored = session_->variables().Restore(folder_.path() / "changed.plv");
    if (!restored.ok()) {
      EXPECT_EQ(restored.error().code, "variables.file") << "byte " << i;
      EXPECT_EQ(session_->variables().steps(), 2) << "byte " << i;
      continue;
    }
    ++accepted;  // a gap between one variable's elements and the next one's
    ASSERT_EQ(session_->variables().steps(), 1);
    MustRun(*session_, id_, {Floats({4}, {1, 1, 1, 1})});
  }
  EXPECT_LT(accepted, 128);
}

// A file that was written on purpose: what its fields say is impossible, and its hash is right.
TEST_F(VariableFileTest, AWellHashedFileThatCannotBeIsRefused) {
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  const std::string whole = ReadFile(path_);
  constexpr size_t kCount = 12;
  constexpr size_t kSteps = 16;
  constexpr size_t kTableSize = 24;
  constexpr size_t kHash = 40;
  const auto table_size = *reinterpret_cast<const uint64_t*>(whole.data() + kTableSize);
  const auto bytes = [](const std::string& text, size_t from, size_t size) {
    return std::span(reinterpret_cast<const std::byte*>(text.data()) + from, size);
  };
  const auto expect = [&](size_t place, auto number, const std::string& why) {
    std::string changed = whole;
    std::memcpy(changed.data() + place, &number, sizeof(number));
    const uint64_t hash =
        HashOfTable(bytes(changed, 0, kVariableHead), bytes(changed, kVariableHead, table_size));
    std::memcpy(changed.data() + kHash, &hash, sizeof(hash));
    folder_.Write("changed.plv", changed);
    ExpectRefused(folder_.path() / "changed.plv", why);
  };
  expect(kSteps, uint64_t{1} << 63, "its number of steps is impossible");
  expect(kCount, uint32_t{3}, "row 2 of its table goes beyond it");
  // Row 0: sizes of name, type, rank, a gap, then dimensions, place, size, checksum and name.
  constexpr size_t kRow = kVariableHead;
  expect(kRow, uint32_t{1000}, "row 0 of its table goes beyond it");
  expect(kRow + 4, uint32_t{77}, "row 0 of its table does not add up");
  expect(kRow + 8, uint32_t{1000}, "row 0 of its table goes beyond it");
  expect(kRow + 16, int64_t{-4}, "row 0 of its table does not add up");
  expect(kRow + 16, int64_t{5}, "row 0 of its table does not add up");
  expect(kRow + 24, uint64_t{1} << 40, "row 0 of its table does not add up");
  expect(kRow + 32, uint64_t{12}, "row 0 of its table does not add up");
  expect(kRow + 48, 'w', "it has 'w' twice");
  ExpectAsSaved();
}

// What was read of a file may be in some of the variables already when the device fails.
TEST_F(VariableFileTest, ADeviceThatFailsInTheMiddleLeavesThemHalfApplied) {
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  for (const int64_t call : {0, 1, 2, 3}) {
    SessionOptions options = Training();
    const auto device =
        std::make_shared<device::WatchedDevice>(std::make_shared<device::CpuDevice>());
    options.device = device;
    const auto session = MakeSession(options);
    const GraphId id = MustAdd(*session, MomentumStep());
    device->FailAfter(call, ErrorKind::kRunFailed);
    const Status failed = session->variables().Restore(path_);
    device->FailNoMore();
    ASSERT_FALSE(failed.ok()) << "two variables, each a copy and a wait";
    EXPECT_EQ(session->variables().steps(), 0);
    const HostTensor x = Floats({4}, {1, 1, 1, 1});
    EXPECT_EQ(CodeOf(session->RunValues(id, Values({x})).status()), "variables.half_applied");
    ASSERT_EQ(CodeOf(session->variables().Restore(path_)), "");
    EXPECT_EQ(session->variables().steps(), 1);
    EXPECT_EQ(VariableOf(*session, "w"), (Elements{1, 2, 3, 3}));
    MustRun(*session, id, {x});
  }
}

// Another writer holds the unfinished file: neither may spoil the other's.
TEST_F(VariableFileTest, AFileThatAnotherIsWritingIsBusy) {
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  const std::string before = ReadFile(path_);
  {
    const auto other = FileReplacement::Begin(path_);
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(CodeOf(session_->variables().Save(path_)), "file.busy");
    EXPECT_EQ(ReadFile(path_), before);
  }
  EXPECT_FALSE(fs::exists(folder_.path() / "state.plv.partial")) << "given up, it is gone";
  EXPECT_EQ(CodeOf(session_->variables().Save(path_)), "");
}

TEST_F(VariableFileTest, AFolderThatComesInBetweenIsNotReplaced) {
  auto file = FileReplacement::Begin(path_);
  ASSERT_TRUE(file.ok());
  fs::create_directory(path_);
  const Status refused = file->Commit();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "file.write");
  EXPECT_NE(refused.error().why.find("renaming"), std::string::npos) << refused.error().why;
  EXPECT_TRUE(fs::is_directory(path_));
}

TEST_F(VariableFileTest, FilesOfOtherVariablesAreRefused) {
  const auto save = [&](graph::Graph graph, const std::string& variables) {
    const auto session = MakeSession();
    ASSERT_TRUE(session->Add(std::move(graph), *ParseVariables(variables)).ok());
    ASSERT_EQ(CodeOf(session->variables().Save(path_)), "");
  };
  save(MomentumStep(), "w=next_w");
  ExpectRefused(path_, "it has no 'm'");
  save(MomentumStep(), "w=next_w,m=next_m,x");
  ExpectRefused(path_, "the session has no 'x'");
  save(MomentumStep(5), "w=next_w,m=next_m");
  ExpectRefused(path_, "its 'm' is float32[5], that of the session float32[4]");
  ExpectAsSaved();
}

TEST_F(VariableFileTest, WhatIsNoFileIsRefused) {
  ExpectRefused(folder_.path() / "missing.plv", "No such file");
  ExpectRefused(folder_.path(), "it is not a file");
  const fs::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ExpectRefused(pipe, "it is not a file");
  folder_.Write("text.plv", std::string(100, 'a'));
  ExpectRefused(folder_.path() / "text.plv", "it is no file of variables");
  EXPECT_EQ(CodeOf(session_->variables().Save(folder_.path())), "file.write");
  EXPECT_EQ(CodeOf(session_->variables().Save(pipe)), "file.write");
  ExpectAsSaved();
}

TEST_F(VariableFileTest, AFullDiskLeavesTheOldFileAndNoOther) {
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  const std::string before = ReadFile(path_);
  MustRun(*session_, id_, {Floats({4}, {9, 9, 9, 9})});
  for (const rlim_t room : {rlim_t{0}, rlim_t{100}, static_cast<rlim_t>(before.size() - 1)}) {
    const FileSizeLimit limit(room);
    const Status saved = session_->variables().Save(path_);
    ASSERT_FALSE(saved.ok()) << room;
    EXPECT_EQ(saved.error().code, "file.write");
    EXPECT_NE(saved.error().Text().find("the old one is as it was"), std::string::npos);
    EXPECT_NE(saved.error().Text().find("make room there"), std::string::npos);
    EXPECT_EQ(ReadFile(path_), before);
    EXPECT_FALSE(fs::exists(folder_.path() / "state.plv.partial"));
  }
  EXPECT_EQ(CodeOf(session_->variables().Save(path_)), "");
}

TEST_F(VariableFileTest, AFolderThatCannotBeWrittenToIsToldByName) {
  const fs::path nowhere = folder_.path() / "missing" / "state.plv";
  const Status saved = session_->variables().Save(nowhere);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().code, "file.write");
  EXPECT_NE(saved.error().Text().find("No such file or directory"), std::string::npos);
  EXPECT_EQ(CodeOf(session_->variables().Save("/proc/state.plv")), "file.write");
  if (geteuid() == 0) return;
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(CodeOf(session_->variables().Save(path_)), "file.write");
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

TEST_F(VariableFileTest, WhatACrashLeftIsWrittenOverAndALinkIsNotFollowed) {
  folder_.Write("state.plv.partial", std::string(100000, 'z'));
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  EXPECT_LT(fs::file_size(path_), 100000U);
  ASSERT_EQ(CodeOf(session_->variables().Restore(path_)), "");
  folder_.Write("precious", "gold");
  fs::create_symlink(folder_.path() / "precious", folder_.path() / "state.plv.partial");
  EXPECT_EQ(CodeOf(session_->variables().Save(path_)), "file.write");
  EXPECT_EQ(ReadFile(folder_.path() / "precious"), "gold");
}

TEST_F(VariableFileTest, TwoWhoSaveToOneNameDoNotMixTheirFiles) {
  auto other = FileReplacement::Begin(path_);
  ASSERT_TRUE(other.ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto mine = FileReplacement::Begin(path_);
    _exit(!mine.ok() && mine.error().code == "file.busy" ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ASSERT_EQ(CodeOf(other->WriteAt(0, std::as_bytes(std::span("new", 3)))), "");
  ASSERT_EQ(CodeOf(other->Commit()), "");
  EXPECT_EQ(ReadFile(path_), "new");
}

// A process that saves again and again is killed at many moments; a whole file is always there.
TEST_F(VariableFileTest, AKillAtAnyMomentLeavesAWholeFile) {
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  const std::string contents = ReadFile(path_);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) {
        auto file = FileReplacement::Begin(path_);
        if (!file.ok()) continue;
        for (size_t i = 0; i < contents.size(); ++i) {
          (void)file->WriteAt(i, std::as_bytes(std::span(contents).subspan(i, 1)));
        }
        (void)file->Commit();
      }
    }
    usleep(static_cast<useconds_t>(1000 + round * 700));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ASSERT_EQ(CodeOf(session_->variables().Restore(path_)), "") << "round " << round;
  }
  ASSERT_EQ(CodeOf(session_->variables().Save(path_)), "");
  EXPECT_FALSE(fs::exists(folder_.path() / "state.plv.partial"));
}

}  // namespace variable_file_test
}  // namespace plimsoll::engine
