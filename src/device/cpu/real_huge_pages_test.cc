// Huge pages of the machine itself; where it has none to give, the tests say so.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <optional>
#include <string>

#include "base/error_lines_for_tests.h"
#include "device/conformance_fixture.h"
#include "device/cpu/huge_page_pools_for_tests.h"
#include "device/cpu/system_memory.h"
#include "plimsoll/device/huge_pages.h"

namespace plimsoll::device {
namespace real_huge_pages_test {

using enum DeviceCall;

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
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it never outlives the test
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

}  // namespace real_huge_pages_test
}  // namespace plimsoll::device
