#include "plimsoll/device/huge_pages.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error_lines_for_tests.h"
#include "device/conformance_fixture.h"
#include "device/cpu/huge_page_pools_for_tests.h"
#include "device/cpu/system_memory.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace huge_pages_test {

using enum DeviceCall;

FakeDevice FakeWithPools(int64_t pages_1g, int64_t pages_2m, bool transparent) {
  return FakeDevice({.pages_1g = pages_1g, .pages_2m = pages_2m, .transparent_pages = transparent});
}

TEST(HugePagesTest, R24_ModeZeroTakesDefaultPagesAndLogsNothing) {
  const ErrorLines errors;
  FakeDevice device = FakeWithPools(8, 8, true);
  auto block = AllocateVariableMemory(device, kFirst, MiB(3), 0);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->pages(), PagePolicy::kDefault);
  EXPECT_EQ(block->size(), MiB(4));
  EXPECT_TRUE(errors.lines().empty());
}

TEST(HugePagesTest, R24_ModeZeroWorksWithoutVirtualMemory) {
  const ErrorLines errors;
  FakeDevice device({.reserves_addresses = false});
  {
    auto block = AllocateVariableMemory(device, kFirst, MiB(3), 0);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->size(), MiB(3));
    EXPECT_EQ(device.outstanding().plain_blocks, 1);
  }
  EXPECT_EQ(device.outstanding(), FakeOutstanding{});
  EXPECT_TRUE(errors.lines().empty());
}

TEST(HugePagesTest, R25_ModeOneTakesGigabytePages) {
  const ErrorLines errors;
  FakeDevice device = FakeWithPools(2, 0, false);
  auto block = AllocateVariableMemory(device, kFirst, GiB(1) + Bytes(1), 1);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->pages(), PagePolicy::kHuge1G);
  EXPECT_EQ(block->size(), GiB(2));
  EXPECT_EQ(block->address() % static_cast<uint64_t>(GiB(1).value()), 0u);
  EXPECT_TRUE(errors.lines().empty());
}

TEST(HugePagesTest, R25_ModeOneEndsWithALoggedErrorWhenTheyAreMissing) {
  const ErrorLines errors;
  FakeDevice device = FakeWithPools(0, 512, true);
  const auto block = AllocateVariableMemory(device, kFirst, MiB(3), 1);
  EXPECT_TRUE(Refused(block.status(), kCreateChunk, ErrorKind::kDoesNotFit));
  EXPECT_EQ(errors.lines().size(), 1u);
  EXPECT_EQ(device.outstanding(), FakeOutstanding{});
}

TEST(HugePagesTest, R25_TheErrorOfTheCpuDeviceNamesTheMissingPool) {
  const PoolLock lock(GiB(1));
  if (PoolHasFreePages(PagePolicy::kHuge1G)) {
    GTEST_SKIP() << "the pool of 1 GiB pages has free ones here";
  }
  const ErrorLines errors;
  CpuDevice device({.capacity = GiB(4)});
  const auto block = AllocateVariableMemory(device, kFirst, MiB(3), 1);
  ASSERT_FALSE(block.ok());
  ASSERT_EQ(errors.lines().size(), 1u);
  const std::string wanted = NameOfGigabytePool();
  EXPECT_NE(block.error().Text().find(wanted), std::string::npos) << block.error().Text();
  EXPECT_NE(errors.lines()[0].find(wanted), std::string::npos);
}

TEST(HugePagesTest, R26_ModeTwoPrefersGigabytePages) {
  const ErrorLines errors;
  FakeDevice device = FakeWithPools(1, 512, true);
  auto block = AllocateVariableMemory(device, kFirst, MiB(3), 2);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->pages(), PagePolicy::kHuge1G);
  EXPECT_TRUE(errors.lines().empty());
}

TEST(HugePagesTest, R26_ModeTwoFallsBackToTwoMegabytePagesWithOneErrorLine) {
  struct Case {
    int64_t pages_2m;
    PagePolicy expected;
  };
  for (const Case& c : {Case{2, PagePolicy::kHuge2M}, Case{1, PagePolicy::kTransparent2M}}) {
    const ErrorLines errors;
    FakeDevice device = FakeWithPools(0, c.pages_2m, true);
    auto block = AllocateVariableMemory(device, kFirst, MiB(3), 2);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->pages(), c.expected);
    EXPECT_EQ(block->size(), MiB(4));
    EXPECT_EQ(errors.lines().size(), 1u);
  }
}

TEST(HugePagesTest, R27_ModeTwoNeverGoesOnToSmallPages) {
  const ErrorLines errors;
  FakeDevice device = FakeWithPools(0, 0, false);
  const auto block = AllocateVariableMemory(device, kFirst, MiB(3), 2);
  EXPECT_TRUE(Refused(block.status(), kCreateChunk, ErrorKind::kUnsupported));
  EXPECT_EQ(errors.lines().size(), 1u);
  EXPECT_EQ(device.statistics().count(kCreateChunk), 3);
  EXPECT_EQ(device.statistics().count(kAllocatePlain), 0);
  EXPECT_EQ(device.outstanding(), FakeOutstanding{});
}

TEST(HugePagesTest, R28_ADeviceWithoutVirtualMemoryAnswersWithTheReason) {
  for (const int mode : {1, 2}) {
    FakeDevice device({.reserves_addresses = false});
    const ErrorLines errors;
    const auto block = AllocateVariableMemory(device, kFirst, MiB(3), mode);
    EXPECT_TRUE(Refused(block.status(), kReserveAddress, ErrorKind::kUnsupported));
    EXPECT_EQ(errors.lines().size(), 1u);
    EXPECT_EQ(device.statistics().count(kAllocatePlain), 0);
  }
}

TEST(HugePagesTest, UnknownModesAndImpossibleSizesAreRefused) {
  const ErrorLines errors;
  FakeDevice device = FakeWithPools(8, 8, true);
  for (const int mode : {-1, 3}) {
    const auto block = AllocateVariableMemory(device, kFirst, MiB(2), mode);
    ASSERT_FALSE(block.ok());
    EXPECT_EQ(block.error().kind, ErrorKind::kUsage);
    EXPECT_NE(block.error().Text().find("variable_use_1g_huge_page"), std::string::npos);
  }
  for (const int mode : {0, 1, 2}) {
    for (const Bytes size : {Bytes(0), Bytes(-1), kLargest, kLargest - Bytes(1)}) {
      EXPECT_FALSE(AllocateVariableMemory(device, kFirst, size, mode).ok()) << size.value();
    }
    EXPECT_FALSE(AllocateVariableMemory(device, kNoDevice, MiB(2), mode).ok());
  }
  EXPECT_EQ(device.outstanding(), FakeOutstanding{});
}

TEST(HugePagesTest, AFailureAtAnyCallLeavesNothingBehind) {
  for (const int mode : {0, 1, 2}) {
    for (const DeviceCall call : {kReserveAddress, kCreateChunk, kMap, kSetAccess}) {
      const ErrorLines errors;
      FakeDevice device = FakeWithPools(8, 8, true);
      device.Fail({.call = call, .times = FakeFailure::kForEver});
      EXPECT_TRUE(Refused(AllocateVariableMemory(device, kFirst, MiB(3), mode).status(), call));
      EXPECT_EQ(device.outstanding(), FakeOutstanding{});
      EXPECT_EQ(device.statistics().physical, Bytes(0));
    }
  }
}

TEST(HugePagesTest, ABlockInUseCanBeReleasedLater) {
  FakeDevice device;
  auto block = AllocateVariableMemory(device, kFirst, MiB(2), 0);
  ASSERT_TRUE(block.ok());
  const StreamId stream = device.CreateStream(kFirst).value();
  ASSERT_TRUE(device.Fill(kFirst, stream, block->address(), 0, block->size()).ok());
  EXPECT_TRUE(Refused(block->Release(), kUnmap));
  ASSERT_TRUE(device.SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(block->Release().ok());
  EXPECT_TRUE(block->Release().ok());
  EXPECT_EQ(device.outstanding().chunks, 0);
  EXPECT_EQ(device.outstanding().ranges, 0);
}

TEST(HugePagesTest, AReleaseThatFailsHalfwayGivesBackWhatItCan) {
  struct Case {
    DeviceCall failing;
    FakeOutstanding left;
  };
  for (const Case& c : {Case{kDestroyChunk, {.chunks = 1}}, Case{kReleaseAddress, {.ranges = 1}}}) {
    FakeDevice device;
    auto block = AllocateVariableMemory(device, kFirst, MiB(2), 0);
    ASSERT_TRUE(block.ok());
    device.Fail({.call = c.failing});
    EXPECT_TRUE(Refused(block->Release(), c.failing));
    EXPECT_EQ(device.outstanding(), c.left) << DeviceCallName(c.failing);
    EXPECT_TRUE(block->Release().ok()) << "nothing is given back twice";
    EXPECT_EQ(block->address(), 0u);
  }
}

TEST(HugePagesTest, BothFailuresOfAReleaseAreToldByTheFirst) {
  FakeDevice device;
  auto block = AllocateVariableMemory(device, kFirst, MiB(2), 0);
  ASSERT_TRUE(block.ok());
  device.Fail({.call = kDestroyChunk});
  device.Fail({.call = kReleaseAddress});
  EXPECT_TRUE(Refused(block->Release(), kDestroyChunk));
}

TEST(HugePagesTest, APlainBlockThatCannotBeFreedIsKept) {
  FakeDevice device({.reserves_addresses = false});
  auto block = AllocateVariableMemory(device, kFirst, MiB(3), 0);
  ASSERT_TRUE(block.ok());
  device.Fail({.call = kFreePlain});
  EXPECT_TRUE(Refused(block->Release(), kFreePlain));
  EXPECT_EQ(device.outstanding().plain_blocks, 1);
  EXPECT_TRUE(block->Release().ok());
  EXPECT_EQ(device.outstanding(), FakeOutstanding{});
}

TEST(HugePagesTest, PagesAreAlignedToTheirSizeAndSizesRoundedUpToIt) {
  struct Case {
    PagePolicy pages;
    Bytes asked, granularity, size, alignment;
  };
  for (const Case& c : {Case{PagePolicy::kHuge1G, MiB(1), KiB(4), GiB(1), GiB(1)},
                        Case{PagePolicy::kHuge2M, MiB(3), KiB(4), MiB(4), MiB(2)},
                        Case{PagePolicy::kTransparent2M, Bytes(1), KiB(4), MiB(2), MiB(2)},
                        Case{PagePolicy::kTransparent2M, Bytes(1), MiB(8), MiB(8), MiB(8)},
                        Case{PagePolicy::kDefault, Bytes(4097), KiB(4), KiB(8), KiB(4)},
                        Case{PagePolicy::kSmall4K, Bytes(1), KiB(4), KiB(4), KiB(4)}}) {
    FakeDevice device({.granularity = c.granularity, .pages_1g = 1, .pages_2m = 2});
    ASSERT_TRUE(device.memory().ReserveAddress(kFirst, c.granularity, Bytes(0)).ok());
    const auto block = AllocateWithPages(device, kFirst, c.asked, c.pages);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->size(), c.size);
    EXPECT_EQ(block->pages(), c.pages);
    EXPECT_EQ(block->address() % static_cast<uint64_t>(c.alignment.value()), 0u);
  }
}

TEST(HugePagesTest, MovingABlockMovesItsMemory) {
  FakeDevice device;
  HugePageBlock kept = AllocateVariableMemory(device, kFirst, MiB(2), 0).value();
  const Address address = kept.address();
  HugePageBlock moved = std::move(kept);
  EXPECT_EQ(moved.address(), address);
  EXPECT_EQ(device.outstanding().chunks, 1);
  moved = AllocateVariableMemory(device, kFirst, MiB(2), 0).value();
  EXPECT_EQ(device.outstanding().chunks, 1);
  moved = HugePageBlock();
  EXPECT_EQ(device.outstanding(), FakeOutstanding{});
}

}  // namespace huge_pages_test
}  // namespace plimsoll::device
