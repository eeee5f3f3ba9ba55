#include "plimsoll/device/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error_lines_for_tests.h"
#include "device/conformance_fixture.h"
#include "device/huge_page_pools_for_tests.h"
#include "device/system_memory.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

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
  for (const Case& c :
       {Case{PagePolicy::kHuge1G, MiB(1), KiB(4), GiB(1), GiB(1)},
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

TEST(HugePagesTest, APoolIsAsItWasAfterATestThatIsKilled) {
  std::optional<HugePagePool> before;
  {
    const LargerPool pool(MiB(2), 2);
    before = FindHugePagePool(MiB(2));
    if (!pool.enlarged()) GTEST_SKIP() << pool.WhyNot();
  }
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t victim = fork();
  if (victim == 0) {
    const LargerPool pool(MiB(2), 3);
    [[maybe_unused]] const ssize_t told = write(ends[1], pool.enlarged() ? "y" : "n", 1);
    pause();
  }
  char enlarged = 0;
  ASSERT_EQ(read(ends[0], &enlarged, 1), 1);
  EXPECT_EQ(FindHugePagePool(MiB(2))->pages, before->pages - 2 + (enlarged == 'y' ? 3 : 0));
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  ASSERT_EQ(waitpid(victim, nullptr, 0), victim);
  close(ends[0]);
  close(ends[1]);
  const PoolLock until_it_is_restored(MiB(2));
  EXPECT_EQ(FindHugePagePool(MiB(2))->pages, before->pages - 2);
}

// The following use the machine's own pages, and say so where it has none to give.

TEST(HugePagesTest, R25_ARealGigabytePageServesAndIsGivenBack) {
  const LargerPool pool(GiB(1), 1);
  if (!pool.enlarged()) GTEST_SKIP() << pool.WhyNot();
  const ErrorLines errors;
  const int64_t free = FindHugePagePool(GiB(1))->free;
  CpuDevice device;
  {
    auto block = AllocateVariableMemory(device, kFirst, MiB(3), 1);
    ASSERT_TRUE(block.ok()) << block.error().Text();
    EXPECT_EQ(block->size(), GiB(1));
    *reinterpret_cast<char*>(block->address()) = 1;
    const auto pages = PagesAt(block->address());
    ASSERT_TRUE(pages.has_value());
    EXPECT_EQ(pages->page, GiB(1));
    EXPECT_EQ(FindHugePagePool(GiB(1))->free, free - 1);
  }
  EXPECT_EQ(FindHugePagePool(GiB(1))->free, free);
  EXPECT_TRUE(errors.lines().empty());
}

TEST(HugePagesTest, R26_RealTwoMegabytePagesComeFromThePool) {
  const PoolLock lock(GiB(1));
  if (PoolHasFreePages(PagePolicy::kHuge1G)) {
    GTEST_SKIP() << "the pool of 1 GiB pages has free ones here";
  }
  const LargerPool pool(MiB(2), 4);
  if (!pool.enlarged()) GTEST_SKIP() << pool.WhyNot();
  const ErrorLines errors;
  CpuDevice device;
  auto block = AllocateVariableMemory(device, kFirst, MiB(8), 2);
  ASSERT_TRUE(block.ok()) << block.error().Text();
  EXPECT_EQ(block->pages(), PagePolicy::kHuge2M);
  *reinterpret_cast<char*>(block->address()) = 1;
  const auto pages = PagesAt(block->address());
  ASSERT_TRUE(pages.has_value());
  EXPECT_EQ(pages->page, MiB(2));
  EXPECT_EQ(errors.lines().size(), 1u);
}

TEST(HugePagesTest, DefaultPagesOfAChunkMappedTwiceComeFromThePoolWhereItHasFreeOnes) {
  const LargerPool pool(MiB(2), 2);
  if (!pool.enlarged()) GTEST_SKIP() << pool.WhyNot();
  CpuDevice device;
  DeviceMemory& memory = device.memory();
  const AddressRange range = memory.ReserveAddress(kFirst, MiB(4), Bytes(0)).value();
  const ChunkId chunk = memory.CreateChunk(kFirst, MiB(2), {}).value();
  for (const uint64_t at : {range.base, range.base + static_cast<uint64_t>(MiB(2).value())}) {
    ASSERT_TRUE(memory.Map(kFirst, at, chunk).ok());
    ASSERT_TRUE(memory.SetAccess(kFirst, at, MiB(2)).ok());
    const auto pages = PagesAt(at);
    ASSERT_TRUE(pages.has_value());
    EXPECT_EQ(pages->page, MiB(2));
  }
}

TEST(HugePagesTest, AChunkThatThePoolCannotGiveLeavesRoomForOneThatItCan) {
  const LargerPool pool(MiB(2), 2);
  if (!pool.enlarged()) GTEST_SKIP() << pool.WhyNot();
  const auto free = FindHugePagePool(MiB(2));
  ASSERT_TRUE(free.has_value());
  CpuDevice device({.capacity = GiB(1 << 20)});
  DeviceMemory& memory = device.memory();
  const ChunkOptions huge{.pages = PagePolicy::kHuge2M};
  const auto refused = memory.CreateChunk(kFirst, GiB(16 * 1024) - MiB(2), huge);
  EXPECT_TRUE(Refused(refused.status(), kCreateChunk, ErrorKind::kDoesNotFit));
  EXPECT_EQ(FindHugePagePool(MiB(2)), free);
  EXPECT_TRUE(memory.CreateChunk(kFirst, MiB(2) * free->free, huge).ok());
}

class TransparentPages : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(MappedTwice, TransparentPages, testing::Bool());

// Whether the kernel makes transparent huge pages of private memory or of a memory file when it is
// asked to, without anything of ours in between.
bool KernelMakesHugePages(bool of_file) {
  constexpr int kCollapse = 25;
  const auto size = static_cast<size_t>(MiB(2).value());
  const int file = of_file ? memfd_create("plimsoll_test", MFD_CLOEXEC) : -1;
  if (of_file && ftruncate(file, MiB(2).value()) != 0) return false;
  void* around = mmap(nullptr, 3 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Address at = (reinterpret_cast<Address>(around) + size) / size * size;
  void* mapped = mmap(reinterpret_cast<void*>(at), size, PROT_READ | PROT_WRITE,
                      MAP_FIXED | (of_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), file, 0);
  madvise(mapped, size, MADV_HUGEPAGE);
  *static_cast<volatile char*>(mapped) = 1;
  madvise(mapped, size, kCollapse);
  const auto pages = PagesAt(at);
  munmap(around, 3 * size);
  if (file >= 0) close(file);
  return pages && pages->huge == MiB(2);
}

TEST_P(TransparentPages, R27_TransparentPagesAreConfirmedBySmaps) {
  if (!KernelMakesHugePages(GetParam())) GTEST_SKIP() << "no transparent huge pages here";
  CpuDevice device;
  DeviceMemory& memory = device.memory();
  const auto chunk = memory.CreateChunk(
      kFirst, MiB(4), {.pages = PagePolicy::kTransparent2M, .mapped_twice = GetParam()});
  ASSERT_TRUE(chunk.ok()) << chunk.error().Text();
  const AddressRange range = memory.ReserveAddress(kFirst, MiB(8), Bytes(0)).value();
  ASSERT_TRUE(memory.Map(kFirst, range.base, *chunk).ok());  // never touched there
  ASSERT_TRUE(memory.Unmap(kFirst, range.base, MiB(4)).ok());
  for (int round = 0; round < 2; ++round) {
    const Address at = range.base + static_cast<uint64_t>((MiB(2) * round).value());
    ASSERT_TRUE(memory.Map(kFirst, at, *chunk).ok());
    ASSERT_TRUE(memory.SetAccess(kFirst, at, MiB(4)).ok());
    *reinterpret_cast<volatile char*>(at) = 1;
    *reinterpret_cast<volatile char*>(at + static_cast<uint64_t>(MiB(2).value())) = 1;
    const auto pages = PagesAt(at);
    ASSERT_TRUE(pages.has_value());
    EXPECT_EQ(pages->huge, MiB(4)) << round;
    ASSERT_TRUE(memory.Unmap(kFirst, at, MiB(4)).ok());
  }
}

TEST_P(TransparentPages, SmallPagesStaySmall) {
  CpuDevice device;
  DeviceMemory& memory = device.memory();
  const auto chunk = memory.CreateChunk(
      kFirst, MiB(4), {.pages = PagePolicy::kSmall4K, .mapped_twice = GetParam()});
  ASSERT_TRUE(chunk.ok());
  const AddressRange range = memory.ReserveAddress(kFirst, MiB(4), Bytes(0)).value();
  ASSERT_TRUE(memory.Map(kFirst, range.base, *chunk).ok());
  ASSERT_TRUE(memory.SetAccess(kFirst, range.base, MiB(4)).ok());
  *reinterpret_cast<volatile char*>(range.base) = 1;
  const auto pages = PagesAt(range.base);
  ASSERT_TRUE(pages.has_value());
  EXPECT_EQ(pages->huge, Bytes(0));
  EXPECT_EQ(pages->page, KiB(4));
}

TEST_P(TransparentPages, PoliciesWantWholePages) {
  CpuDevice device({.capacity = GiB(4), .granularity = KiB(4)});
  for (const PagePolicy pages :
       {PagePolicy::kTransparent2M, PagePolicy::kHuge2M, PagePolicy::kHuge1G}) {
    EXPECT_TRUE(
        Refused(device.memory()
                    .CreateChunk(kFirst, MiB(3), {.pages = pages, .mapped_twice = GetParam()})
                    .status(),
                kCreateChunk));
  }
}

}  // namespace
}  // namespace plimsoll::device
