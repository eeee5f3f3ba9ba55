#include "base/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace plimsoll::usable_cores_test {
namespace {

namespace fs = std::filesystem;

TEST(UsableCoresTest, AQuotaIsMicrosecondsOfAPeriod) {
  EXPECT_EQ(QuotaOfCpuMax("150000 100000\n"), 1.5);
  EXPECT_EQ(QuotaOfCpuMax("max 100000\n"), std::nullopt);
  EXPECT_EQ(QuotaOfCpuMax(""), std::nullopt);
  EXPECT_EQ(QuotaOfCpuMax("-1 100000"), std::nullopt);
  EXPECT_EQ(QuotaOfCpuMax("100000 0"), std::nullopt);
}

class GroupFilesTest : public testing::Test {
 protected:
  GroupFilesTest() { fs::create_directories(root_); }
  ~GroupFilesTest() override { fs::remove_all(root_); }
  void Write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::optional<double> Least(std::string_view memberships) const {
    return LeastQuota(root_.string(), memberships);
  }
  const fs::path root_ = fs::path(testing::TempDir()) / "group_files_test";
};

TEST_F(GroupFilesTest, TheLeastOfAGroupAndThoseAboveItCounts) {
  Write("cpu.max", "max 100000");
  Write("service/cpu.max", "300000 100000");
  Write("service/job/cpu.max", "800000 100000");
  EXPECT_EQ(Least("0::/service/job\n"), 3);
  EXPECT_EQ(Least("0::/\n"), std::nullopt);
  EXPECT_EQ(Least("0::/gone/elsewhere\n"), std::nullopt);
}

TEST_F(GroupFilesTest, TheFirstVersionHasAControllerForIt) {
  Write("cpu/box/cpu.cfs_quota_us", "250000");
  Write("cpu/box/cpu.cfs_period_us", "100000");
  EXPECT_EQ(Least("4:cpu,cpuacct:/box\n3:memory:/box\n"), 2.5);
  EXPECT_EQ(Least("3:cpuset:/box\n"), std::nullopt);
  Write("cpu/box/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(Least("4:cpu,cpuacct:/box\n"), std::nullopt);
}

TEST_F(GroupFilesTest, LinesThatSayNothingAreLeftOut) {
  EXPECT_EQ(Least("nonsense\n\n::\n"), std::nullopt);
}

TEST(UsableCoresTest, AThreadBoundToOneProcessorHasOne) {
  EXPECT_GE(UsableCores(), 1);
  std::thread bound([] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(UsableCores(), 1);
  });
  bound.join();
}

}  // namespace
}  // namespace plimsoll::usable_cores_test
