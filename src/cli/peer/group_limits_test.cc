#include "cli/peer/group_limits.h"

#include <gtest/gtest.h>

#include "cli/inputs/folder_for_tests.h"

namespace plimsoll::cli {
namespace group_limits_test {

class GroupLimitsTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void SetUp() override {
    root_ = std::filesystem::path(testing::TempDir()) / "group_limits_test";
    std::filesystem::remove_all(root_);
  }
  GroupLimits Read() const { return ReadGroupLimits(root_.string() + "/"); }

  std::filesystem::path root_;
};

TEST_F(GroupLimitsTest, TheLowestLimitOfAllParentsCounts) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  Write("sys/fs/cgroup/a/memory.max", "max\n");
  Write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/a/b/memory.max", "1073741824\n");
  EXPECT_EQ(Read().cores, 1.5);
  EXPECT_EQ(Read().memory, GiB(1));
}

TEST_F(GroupLimitsTest, OlderGroupsHaveFoldersOfTheirOwn) {
  Write("proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read().cores, 2.0);
  EXPECT_EQ(Read().memory, Bytes(4096));
}

TEST_F(GroupLimitsTest, WithoutGroupsThereIsNoLimit) {
  EXPECT_FALSE(Read().cores || Read().memory);
}

}  // namespace group_limits_test
}  // namespace plimsoll::cli
