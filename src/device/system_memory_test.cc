#include "device/system_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::device {
namespace {

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
  EXPECT_EQ(PagesAt(0x1fff, kSmaps)->huge, Bytes(0));
  EXPECT_EQ(PagesAt(0x800000, kSmaps)->resident, KiB(8));
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

}  // namespace
}  // namespace plimsoll::device
