#include "engine/weights/weight_folder.h"

#include "engine/weights/external_weights.h"
#include "engine/weights/weight_files_for_tests.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace weight_folder_test {

namespace fs = std::filesystem;

// A process that holds a graph's weights in files.
std::unique_ptr<WaitingProcess> HolderIn(const fs::path& work_path) {
  return std::make_unique<WaitingProcess>([&work_path] {
    auto* const weights = new ExternalWeights(work_path, 0);
    auto* const lease = new WeightLease;
    graph::Graph graph = Product(1);
    if (!weights->Hold(graph, *lease).ok()) _exit(1);
  });
}

TEST(WeightFolderTest, NamesAreExact) {
  EXPECT_EQ(WeightFolderName(12, 3), "tmp_weight_12_3");
  EXPECT_TRUE(IsWeightFolderName("tmp_weight_12_3"));
  for (const char* name :
       {"tmp_weight_12", "tmp_weight_12_", "tmp_weight__3", "tmp_weight_12_3_4", "tmp_weight_12_x",
        "tmp_weight_-1_3", "xtmp_weight_12_3", "tmp_weight_", "tmp_weight_12_3 "}) {
    EXPECT_FALSE(IsWeightFolderName(name)) << name;
  }
  const WeightHash hash{.high = 0x0123456789abcdef, .low = 0xff};
  EXPECT_EQ(WeightFileName(hash), "weight_0123456789abcdef00000000000000ff");
  EXPECT_TRUE(IsWeightFileName(WeightFileName(hash)));
  EXPECT_TRUE(IsWeightFileName(PartialWeightFileName(hash)));
  for (const char* name : {"weight_", "weight_0123", "weight_0123456789abcdef00000000000000fg",
                           "weight_0123456789abcdef00000000000000ff.other", "notes"}) {
    EXPECT_FALSE(IsWeightFileName(name)) << name;
  }
}

TEST(WeightFolderTest, WhatACrashedProcessLeftGoesWhenTheNextSessionUsesTheWorkPath) {
  const TemporaryFolder work;
  const auto holder = HolderIn(work.path());
  const fs::path left = OnlyFolderIn(work.path());
  EXPECT_EQ(WeightsIn(left).size(), 2U);
  std::ofstream(left / PartialWeightFileName({.high = 1, .low = 2})) << "half";
  holder->Kill();
  EXPECT_TRUE(fs::exists(left));
  const auto session = MakeSession(WithWeightsIn(work.path()));
  MustAdd(*session, Product(1));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(WeightsIn(OnlyFolderIn(work.path())).size(), 2U);
}

TEST(WeightFolderTest, FoldersOfLiveProcessesStay) {
  const TemporaryFolder work;
  const auto holder = HolderIn(work.path());
  const fs::path in_use = OnlyFolderIn(work.path());
  auto session = MakeSession(WithWeightsIn(work.path()));
  MustAdd(*session, Product(1));
  EXPECT_EQ(NamesIn(work.path()).size(), 2U);
  EXPECT_EQ(WeightsIn(in_use).size(), 2U);
  session.reset();
  EXPECT_EQ(OnlyFolderIn(work.path()), in_use);
}

TEST(WeightFolderTest, APidThatIsAliveAgainDoesNotKeepAStaleFolder) {
  const TemporaryFolder work;
  const fs::path stale = work.path() / WeightFolderName(getpid(), 4000000);
  fs::create_directory(stale);
  std::ofstream(stale / kWeightLockName) << "";
  const auto made = WeightFolder::Make(work.path(), 0);
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(fs::exists(stale));
}

TEST(WeightFolderTest, WhatIsNotOursIsNeverTouched) {
  const TemporaryFolder work;
  const fs::path elsewhere = work.path() / "elsewhere";
  const std::string weight = WeightFileName({.high = 1, .low = 2});
  const auto make = [&](const fs::path& folder, const std::vector<std::string>& files) {
    fs::create_directory(folder);
    for (const std::string& file : files) std::ofstream(folder / file) << "theirs";
  };
  make(elsewhere, {weight, kWeightLockName});
  make(work.path() / "tmp_weight_1_x", {weight, kWeightLockName});  // another name
  make(work.path() / "tmp_weight_1_1", {weight});                   // no lock: not made by us
  make(work.path() / "tmp_weight_1_2", {"notes", kWeightLockName});
  fs::create_directory(work.path() / "tmp_weight_1_2" / PartialWeightFileName({}));
  fs::create_symlink(elsewhere / weight, work.path() / "tmp_weight_1_2" / weight);
  fs::create_directory_symlink(elsewhere, work.path() / "tmp_weight_1_3");
  work.Write("tmp_weight_1_4", "a file");
  const auto made = WeightFolder::Make(work.path(), 0);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(NamesIn(elsewhere), (std::vector<std::string>{kWeightLockName, weight}));
  EXPECT_EQ(NamesIn(work.path() / "tmp_weight_1_x").size(), 2U);
  EXPECT_EQ(NamesIn(work.path() / "tmp_weight_1_1").size(), 1U);
  EXPECT_EQ(NamesIn(work.path() / "tmp_weight_1_2").size(), 3U);
  EXPECT_TRUE(fs::is_symlink(work.path() / "tmp_weight_1_3"));
  EXPECT_EQ(ContentOf(work.path() / "tmp_weight_1_4"), "a file");
}

TEST(WeightFolderTest, ANameThatIsTakenIsPassedOver) {
  const TemporaryFolder work;
  work.Write(WeightFolderName(getpid(), 7), "a file");
  const auto made = WeightFolder::Make(work.path(), 7);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->path(), work.path() / WeightFolderName(getpid(), 8));
}

TEST(WeightFolderTest, AfterAThousandTakenNamesItGivesUpAndLeavesThem) {
  const TemporaryFolder work;
  for (uint64_t number = 5; number < 1005; ++number) {
    fs::create_directory(work.path() / WeightFolderName(getpid(), number));
  }
  const auto refused = WeightFolder::Make(work.path(), 5);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "weights.folder");
  EXPECT_EQ(refused.error().why, "the names of 1000 folders are taken");
  EXPECT_EQ(NamesIn(work.path()).size(), 1000U);
  const auto next = WeightFolder::Make(work.path(), 6);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ((*next)->path(), work.path() / WeightFolderName(getpid(), 1005));
}

TEST(WeightFolderTest, AFolderThatAnotherTookThePlaceOfIsLeftToIt) {
  const TemporaryFolder work;
  auto made = WeightFolder::Make(work.path(), 0);
  ASSERT_TRUE(made.ok());
  const fs::path path = (*made)->path();
  fs::rename(path, work.path() / "moved");
  fs::create_directory(path);
  made->reset();
  EXPECT_TRUE(fs::exists(path));
}

TEST(WeightFolderTest, AForkedProcessRemovesNothing) {
  const TemporaryFolder work;
  auto made = WeightFolder::Make(work.path(), 0);
  ASSERT_TRUE(made.ok());
  WaitingProcess([&] { made->reset(); });
  EXPECT_TRUE(fs::exists((*made)->path() / kWeightLockName));
}

}  // namespace weight_folder_test
}  // namespace plimsoll::engine
