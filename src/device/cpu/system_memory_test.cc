#include "device/cpu/system_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace plimsoll::device {
namespace system_memory_test {

// The files of a system made up, in a folder of its own.
class MadeUpSystem : public testing::Test {
 protected:
  ~MadeUpSystem() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void WriteMemory() const {
    Write("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\n");
  }
  void WritePool(const std::string& kilobytes, const std::string& free,
                 const std::string& promised) const {
    const std::string folder = "/sys/kernel/mm/hugepages/hugepages-" + kilobytes + "kB/";
    Write(folder + "nr_hugepages", "9\n");
    Write(folder + "free_hugepages", free);
    Write(folder + "resv_hugepages", promised);
  }

  const std::string root_ = testing::TempDir() + "made_up_system_" + std::to_string(getpid());
};

TEST_F(MadeUpSystem, WithoutAContainerTheMachineCounts) {
  WriteMemory();
  EXPECT_EQ(SystemMemory(root_).total, KiB(1000));
  EXPECT_EQ(SystemMemory(root_).free, KiB(600));
}

TEST_F(MadeUpSystem, WhatASystemDoesNotTellIsZero) {
  EXPECT_EQ(SystemMemory(root_).total, Bytes(0));
  EXPECT_EQ(SystemMemory(root_).free, Bytes(0));
  EXPECT_EQ(FindHugePagePool(MiB(2), root_), std::nullopt);
}

TEST_F(MadeUpSystem, TheProcessorHasTheNameThatTheSystemGivesIt) {
  EXPECT_EQ(ProcessorName(root_), "processor");
  Write("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 17\nflags: none\n");
  EXPECT_EQ(ProcessorName(root_), "processor");
  Write("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Abacus 3: fast\n");
  EXPECT_EQ(ProcessorName(root_), "Abacus 3: fast");
}

TEST_F(MadeUpSystem, AContainerWithLessMemoryThanTheMachineCounts) {
  struct Case {
    int64_t limit, used;  // in KiB
    Bytes total, free;
  };
  for (const Case& c : {Case{500, 100, KiB(500), KiB(400)}, Case{900, 100, KiB(900), KiB(600)},
                        Case{500, 501, KiB(500), Bytes(0)}, Case{1000, 900, KiB(1000), KiB(600)},
                        Case{2000, 1999, KiB(1000), KiB(600)}}) {
    WriteMemory();
    Write("/sys/fs/cgroup/memory.max", std::to_string(c.limit * 1024) + "\n");
    Write("/sys/fs/cgroup/memory.current", std::to_string(c.used * 1024) + "\n");
    EXPECT_EQ(SystemMemory(root_).total, c.total) << c.limit;
    EXPECT_EQ(SystemMemory(root_).free, c.free) << c.limit;
  }
  Write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(SystemMemory(root_).total, KiB(1000));
}

TEST_F(MadeUpSystem, TheProcessesOwnControlGroupCountsWhereItCanBeSeen) {
  WriteMemory();
  Write("/sys/fs/cgroup/memory.max", "409600");
  Write("/sys/fs/cgroup/memory.current", "0");
  Write("/proc/self/cgroup", "3:cpu:/elsewhere\n0::/mine\n");
  EXPECT_EQ(SystemMemory(root_).total, KiB(400));
  Write("/sys/fs/cgroup/mine/memory.max", "204800");
  Write("/sys/fs/cgroup/mine/memory.current", "102400");
  EXPECT_EQ(SystemMemory(root_).total, KiB(200));
  EXPECT_EQ(SystemMemory(root_).free, KiB(100));
}

TEST_F(MadeUpSystem, PagesOfAPoolThatArePromisedAreNotFree) {
  WritePool("2048", "5\n", "2\n");
  WritePool("1048576", "1\n", "3\n");
  const auto huge = FindHugePagePool(MiB(2), root_);
  ASSERT_TRUE(huge.has_value());
  EXPECT_EQ(huge->path, root_ + "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
  EXPECT_EQ(huge->pages, 9);
  EXPECT_EQ(huge->free, 3);
  const auto giant = FindHugePagePool(GiB(1), root_);
  ASSERT_TRUE(giant.has_value());
  EXPECT_EQ(giant->free, 0);
}

TEST(SystemMemoryTest, TheMachineHasMemoryAndSomeOfItIsFree) {
  const MemoryInfo info = SystemMemory();
  EXPECT_GT(info.total, MiB(16));
  EXPECT_GT(info.free, Bytes(0));
  EXPECT_LE(info.free, info.total);
}

TEST(SystemMemoryTest, LinesAreFoundByTheirWholeName) {
  constexpr std::string_view kText = "MemTotalX:  1 kB\nMemTotal:  24682416 kB\nOdd:  5\nBad: x kB";
  EXPECT_EQ(KilobyteLine(kText, "MemTotal"), KiB(24682416));
  EXPECT_EQ(KilobyteLine(kText, "Mem"), std::nullopt);
  EXPECT_EQ(KilobyteLine(kText, "Odd"), std::nullopt);
  EXPECT_EQ(KilobyteLine(kText, "Bad"), std::nullopt);
  EXPECT_EQ(KilobyteLine("", "MemTotal"), std::nullopt);
}

TEST(SystemMemoryTest, SmapsIsReadForTheMappingThatHoldsTheAddress) {
  constexpr std::string_view kSmaps =
      "1000-2000 rw-p 00000000 00:00 0\n"
      "KernelPageSize:        4 kB\nRss:   4 kB\nAnonHugePages:  0 kB\nVmFlags: rd wr\n"
      "400000-800000 rw-s 00000000 00:01 7 /memfd:a-b (deleted)\n"
      "KernelPageSize:        4 kB\nRss:  4096 kB\nAnonHugePages: 0 kB\nShmemPmdMapped: 4096 kB\n"
      "800000-900000 rw-p 00000000 00:00 0\nKernelPageSize: 4 kB\nRss: 8 kB\n";
  const auto pages = PagesAt(0x7fffff, kSmaps);
  ASSERT_TRUE(pages.has_value());
  EXPECT_EQ(pages->page, KiB(4));
  EXPECT_EQ(pages->resident, MiB(4));
  EXPECT_EQ(pages->huge, MiB(4));
  EXPECT_EQ(PagesAt(0x1fff, kSmaps), (MappingPages{KiB(4), KiB(4), Bytes(0)}));
  EXPECT_EQ(PagesAt(0x2000, kSmaps), std::nullopt);
  EXPECT_EQ(PagesAt(0x800000, kSmaps), (MappingPages{KiB(4), KiB(8), Bytes(0)}));
  EXPECT_EQ(PagesAt(0x3000, kSmaps), std::nullopt);
  EXPECT_EQ(PagesAt(0x3000, "nonsense"), std::nullopt);
}

TEST(SystemMemoryTest, SmapsTellsAboutThisProcess) {
  const std::vector<char> block(1 << 20, 1);
  const auto pages = PagesAt(reinterpret_cast<Address>(block.data()));
  ASSERT_TRUE(pages.has_value());
  EXPECT_GE(pages->resident, MiB(1));
}

TEST(SystemMemoryTest, NoMachineHasAPoolOfThreeKilobytePages) {
  EXPECT_EQ(FindHugePagePool(KiB(3)), std::nullopt);
}

}  // namespace system_memory_test
}  // namespace plimsoll::device
