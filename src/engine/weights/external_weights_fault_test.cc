#include <sys/mount.h>

#include <thread>

#include "engine/file_size_limit_for_tests.h"
#include "engine/session.h"
#include "engine/weights/weight_files_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace external_weights_fault_test {

namespace fs = std::filesystem;

// A small file system of its own, where this process may mount one.
class SmallDisk {
 public:
  SmallDisk(const fs::path& at, const char* size) : at_(at) {
    fs::create_directory(at_);
    mounted_ = ::mount("tmpfs", at_.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount(at_.c_str());
  }
  bool mounted() const { return mounted_; }
  bool MakeReadOnly() const {
    return ::mount(nullptr, at_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  fs::path at_;
  bool mounted_ = false;
};

void ExpectRuns(Session& session, GraphId id) {
  EXPECT_EQ(MustRun(session, id, {Random({4, 32}, 1)}).size(), 1U);
}

TEST(ExternalWeightsFaultTest, AFileThatMayNotGrowSoLargeIsAnErrorAndLeavesNothing) {
  const TemporaryFolder work;
  const auto session = MakeSession(WithWeightsIn(work.path()));
  {
    const FileSizeLimit limit(1000);  // room for the bias, not for the weights
    const auto added = session->Add(Product(1));
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().code, "weights.disk_full");
    EXPECT_EQ(added.error().kind, ErrorKind::kDoesNotFit);
    EXPECT_NE(added.error().where.find(work.path().string()), std::string::npos);
    EXPECT_NE(added.error().remedy.find("ASCEND_WORK_PATH"), std::string::npos);
  }
  EXPECT_TRUE(NamesIn(work.path()).empty());
  ExpectRuns(*session, MustAdd(*session, Product(1)));
}

TEST(ExternalWeightsFaultTest, AFullDiskIsAnErrorAndTheModelsBeforeItGoOn) {
  const TemporaryFolder work;
  const SmallDisk disk(work.path() / "disk", "size=48k");
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a small disk";
  const auto session = MakeSession(WithWeightsIn(work.path() / "disk"));
  const GraphId id = MustAdd(*session, Product(1));
  const std::vector<std::string> before = WeightsIn(OnlyFolderIn(work.path() / "disk"));
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({1, 128}));
  builder.Output(builder.Node("MatMul", {x, RandomWeights(builder, "w", {128, 128}, 1)}));
  const auto added = session->Add(builder.Build());
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, "weights.disk_full");
  EXPECT_EQ(WeightsIn(OnlyFolderIn(work.path() / "disk")), before);
  ExpectRuns(*session, id);
  EXPECT_TRUE(session->Unload(id).ok());
  EXPECT_TRUE(NamesIn(work.path() / "disk").empty());
}

TEST(ExternalWeightsFaultTest, AWorkPathThatCannotBeWrittenToIsAnErrorThatNamesIt) {
  const TemporaryFolder work;
  const fs::path file = work.Write("file", "x");
  for (const fs::path& path : {file, work.path() / "missing"}) {
    const auto session = MakeSession(WithWeightsIn(path));
    const auto added = session->Add(Product(1));
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().code, "weights.folder");
    EXPECT_EQ(added.error().where, path.string());
    EXPECT_NE(added.error().remedy.find("ASCEND_WORK_PATH"), std::string::npos);
  }
  EXPECT_EQ(NamesIn(work.path()), std::vector<std::string>{"file"});
}

TEST(ExternalWeightsFaultTest, AReadOnlyFolderIsAnErrorAndAWritableOneServesLater) {
  const TemporaryFolder work;
  const fs::path folder = work.path() / "disk";
  const SmallDisk disk(folder, "size=1m");
  if (getuid() == 0) {
    if (!disk.mounted() || !disk.MakeReadOnly()) GTEST_SKIP() << "root writes everywhere here";
  } else {
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  }
  const auto session = MakeSession(WithWeightsIn(folder));
  const auto added = session->Add(Product(1));
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, "weights.folder");
  EXPECT_EQ(added.error().kind, ErrorKind::kRunFailed);
  EXPECT_TRUE(NamesIn(folder).empty());
}

TEST(ExternalWeightsFaultTest, AFileOfThatNameWhichSomebodyElsePutThereIsNeitherReadNorReplaced) {
  const TemporaryFolder work;
  const auto session = MakeSession(WithWeightsIn(work.path()));
  const GraphId first = MustAdd(*session, Product(1));
  const fs::path folder = OnlyFolderIn(work.path());
  const graph::Graph next = Product(5);
  const fs::path taken = folder / WeightFileName(HashOf(next.constants[0].bytes));
  std::ofstream(taken) << "a stranger's";
  const auto added = session->Add(next);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, "weights.name_taken");
  EXPECT_EQ(added.error().where, taken.string());
  EXPECT_EQ(ContentOf(taken), "a stranger's");
  EXPECT_EQ(WeightsIn(folder).size(), 3U);
  ExpectRuns(*session, first);
  fs::remove(taken);
  ExpectRuns(*session, MustAdd(*session, next));
}

TEST(ExternalWeightsFaultTest, WhenTheFolderIsRemovedModelsRunOnAndTheNextGetsANewOne) {
  const TemporaryFolder work;
  auto session = MakeSession(WithWeightsIn(work.path()));
  const GraphId first = MustAdd(*session, Product(1, graph::Dim::Symbol("rows")));
  fs::remove_all(OnlyFolderIn(work.path()));
  ExpectRuns(*session, first);
  const GraphId second = MustAdd(*session, Product(1));
  EXPECT_EQ(WeightsIn(OnlyFolderIn(work.path())).size(), 2U);
  EXPECT_TRUE(session->Unload(first).ok());
  EXPECT_EQ(WeightsIn(OnlyFolderIn(work.path())).size(), 2U);
  ExpectRuns(*session, second);
  session.reset();
  EXPECT_TRUE(NamesIn(work.path()).empty());
}

TEST(ExternalWeightsFaultTest, ManyThreadsAddAndUnloadTheSameModels) {
  const TemporaryFolder work;
  constexpr int kThreads = 4;
  constexpr int kRounds = 20;
  auto one = MakeSession(WithWeightsIn(work.path()));
  auto two = MakeSession(WithWeightsIn(work.path()));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Session& session = thread % 2 == 0 ? *one : *two;
      for (int round = 0; round < kRounds; ++round) {
        const GraphId id = MustAdd(session, Product(static_cast<uint32_t>(round % 3)));
        ExpectRuns(session, id);
        EXPECT_TRUE(session.Unload(id).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(NamesIn(work.path()).empty());
}

}  // namespace external_weights_fault_test
}  // namespace plimsoll::engine
