// What the cpu device does when the system refuses: an error of the right kind, and everything as
// it was.
#include <fcntl.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>

#include "device/conformance_fixture.h"
#include "device/cpu/system_limits_for_tests.h"

namespace plimsoll::device {
namespace cpu_device_limits_test {

using enum DeviceCall;

uint8_t* Pointer(Address at) { return reinterpret_cast<uint8_t*>(at); }
size_t Count(Bytes size) { return static_cast<size_t>(size.value()); }

class CpuDeviceLimits : public testing::Test {
 protected:
  void SetUp() override {
    if (!LimitsCanBeLowered()) GTEST_SKIP() << "a sanitizer takes memory while limits are low";
  }
  static constexpr Bytes kUnit = MiB(2);
  static constexpr Bytes kLarge = MiB(64);
  CpuDevice device_{{.capacity = kLarge}};
  DeviceMemory& memory_ = device_.memory();

  ChunkId Single() { return memory_.CreateChunk(kFirst, kUnit, {.mapped_twice = false}).value(); }
  Address At(const AddressRange& range, int64_t unit) const {
    return range.base + Count(kUnit * unit);
  }
  // That nothing of the capacity is lost: all of it can be had, as chunk and as plain memory.
  void ExpectWholeCapacity() {
    const auto chunk = memory_.CreateChunk(kFirst, kLarge, {});
    ASSERT_TRUE(chunk.ok()) << chunk.error().Text();
    ASSERT_TRUE(memory_.DestroyChunk(kFirst, *chunk).ok());
    const auto block = memory_.AllocatePlain(kFirst, kLarge, MemoryType::kDevice);
    ASSERT_TRUE(block.ok()) << block.error().Text();
    ASSERT_TRUE(memory_.FreePlain(kFirst, *block).ok());
  }
};

TEST_F(CpuDeviceLimits, WithoutAddressesNothingIsReservedOrAllocated) {
  const Bytes before = ProcessBytes("VmSize");
  {
    const SoftLimit limit(RLIMIT_AS, (before + MiB(4)).value());
    EXPECT_TRUE(Refused(memory_.ReserveAddress(kFirst, kLarge, Bytes(0)).status(), kReserveAddress,
                        ErrorKind::kDoesNotFit));
    EXPECT_TRUE(Refused(memory_.AllocatePlain(kFirst, kLarge, MemoryType::kDevice).status(),
                        kAllocatePlain, ErrorKind::kDoesNotFit));
    EXPECT_TRUE(
        Refused(memory_.CreateChunk(kFirst, kLarge, {.pages = PagePolicy::kTransparent2M}).status(),
                kCreateChunk, ErrorKind::kDoesNotFit));
    Status no_stream;
    for (int i = 0; i < 100 && no_stream.ok(); ++i) {  // the C library keeps stacks of old threads
      no_stream = device_.CreateStream(kFirst).status();
    }
    EXPECT_TRUE(Refused(no_stream, kCreateStream, ErrorKind::kDoesNotFit));
  }
  EXPECT_LT(ProcessBytes("VmSize"), before + MiB(4));
  EXPECT_TRUE(device_.CreateStream(kFirst).ok());
  ExpectWholeCapacity();
}

TEST_F(CpuDeviceLimits, APlainBlockThatCannotBeWrittenIsGivenBackWhole) {
  const Bytes before = ProcessBytes("VmSize");
  {
    const SoftLimit limit(RLIMIT_DATA, (ProcessBytes("VmData") + MiB(4)).value());
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(Refused(memory_.AllocatePlain(kFirst, kLarge, MemoryType::kDevice).status(),
                          kAllocatePlain, ErrorKind::kDoesNotFit));
    }
  }
  EXPECT_LT(ProcessBytes("VmSize"), before + kLarge);
  ExpectWholeCapacity();
}

TEST_F(CpuDeviceLimits, AccessThatTheSystemRefusesIsNotGiven) {
  const AddressRange range = memory_.ReserveAddress(kFirst, kUnit * 4, Bytes(0)).value();
  const StreamId stream = device_.CreateStream(kFirst).value();
  for (int64_t i = 0; i < 4; ++i) ASSERT_TRUE(memory_.Map(kFirst, At(range, i), Single()).ok());
  {
    const SoftLimit limit(RLIMIT_DATA, (ProcessBytes("VmData") + MiB(1)).value());
    EXPECT_TRUE(Refused(memory_.SetAccess(kFirst, range.base, range.size), kSetAccess,
                        ErrorKind::kDoesNotFit));
  }
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(Refused(device_.Fill(kFirst, stream, At(range, i), 1, kUnit), kFill)) << i;
  }
  ASSERT_TRUE(memory_.SetAccess(kFirst, range.base, range.size).ok());
  EXPECT_TRUE(device_.Fill(kFirst, stream, range.base, 1, range.size).ok());
  EXPECT_TRUE(device_.SynchronizeStream(kFirst, stream).ok());
}

TEST_F(CpuDeviceLimits, AFailedUnmapLeavesBytesAndAccessAsTheyWere) {
  const AddressRange range = memory_.ReserveAddress(kFirst, kUnit * 4, Bytes(0)).value();
  for (int64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(memory_.Map(kFirst, At(range, i), Single()).ok());
    ASSERT_TRUE(memory_.SetAccess(kFirst, At(range, i), kUnit).ok());
    std::memset(Pointer(At(range, i)), static_cast<int>(10 + i), Count(kUnit));
  }
  // The second has bytes and no access.
  const ChunkId second = Single();
  ASSERT_TRUE(memory_.Unmap(kFirst, At(range, 1), kUnit).ok());
  ASSERT_TRUE(memory_.Map(kFirst, At(range, 1), second).ok());
  ASSERT_TRUE(memory_.SetAccess(kFirst, At(range, 1), kUnit).ok());
  std::memset(Pointer(At(range, 1)), 99, Count(kUnit));
  ASSERT_TRUE(memory_.Unmap(kFirst, At(range, 1), kUnit).ok());
  ASSERT_TRUE(memory_.Map(kFirst, At(range, 1), second).ok());

  const auto unmap = [&] { return memory_.Unmap(kFirst, range.base, range.size); };
  const auto expect_unchanged = [&] {
    for (int64_t i = 0; i < 4; ++i) {
      ASSERT_EQ(Readable(At(range, i)), i != 1) << i;
      EXPECT_TRUE(i == 1 || *Pointer(At(range, i)) == 10 + i) << i;
    }
  };
  {  // room to save one chunk's bytes, then none
    const SoftLimit limit(RLIMIT_DATA, (ProcessBytes("VmData") + MiB(3)).value());
    EXPECT_TRUE(Refused(unmap(), kUnmap, ErrorKind::kDoesNotFit));
  }
  expect_unchanged();
  {  // nor addresses to save them at
    const SoftLimit limit(RLIMIT_AS, (ProcessBytes("VmSize") + MiB(1)).value());
    EXPECT_TRUE(Refused(unmap(), kUnmap, ErrorKind::kDoesNotFit));
  }
  expect_unchanged();
  ASSERT_TRUE(unmap().ok());
  ASSERT_TRUE(memory_.Map(kFirst, At(range, 3), second).ok());
  ASSERT_TRUE(memory_.SetAccess(kFirst, At(range, 3), kUnit).ok());
  EXPECT_EQ(*Pointer(At(range, 3)), 99);
}

TEST_F(CpuDeviceLimits, AChunkWhoseFileIsGoneIsNotMapped) {
  const AddressRange range = memory_.ReserveAddress(kFirst, kUnit, Bytes(0)).value();
  const ChunkId chunk = memory_.CreateChunk(kFirst, kUnit, {}).value();
  const std::vector<int> files = ChunkFiles();
  ASSERT_EQ(files.size(), 1u);
  const int kept = dup(files[0]);
  close(files[0]);
  EXPECT_TRUE(Refused(memory_.Map(kFirst, range.base, chunk), kMap));
  EXPECT_TRUE(Refused(memory_.Unmap(kFirst, range.base, kUnit), kUnmap));
  ASSERT_EQ(dup2(kept, files[0]), files[0]);
  close(kept);
  EXPECT_TRUE(memory_.Map(kFirst, range.base, chunk).ok());
}

TEST_F(CpuDeviceLimits, WithoutFileDescriptorsAChunkMappedTwiceIsRefusedAndServedLater) {
  const ChunkOptions options{.pages = PagePolicy::kSmall4K};
  {
    const SoftLimit limit(RLIMIT_NOFILE, NextDescriptor());
    const auto chunk = memory_.CreateChunk(kFirst, kUnit, options);
    EXPECT_TRUE(Refused(chunk.status(), kCreateChunk, ErrorKind::kDoesNotFit));
    EXPECT_NE(chunk.error().remedy.find("file descriptors"), std::string::npos);
    EXPECT_TRUE(memory_.CreateChunk(kFirst, kUnit, {.mapped_twice = false}).ok());
  }
  EXPECT_TRUE(memory_.CreateChunk(kFirst, kLarge - kUnit, options).ok());
}

TEST_F(CpuDeviceLimits, WhereTransparentPagesAreForbiddenTheErrorSaysSoAndNothingIsKept) {
  const Bytes before = ProcessBytes("VmSize");
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  for (const bool mapped_twice : {false, true}) {
    for (int i = 0; i < 10; ++i) {
      const auto chunk = memory_.CreateChunk(
          kFirst, kLarge, {.pages = PagePolicy::kTransparent2M, .mapped_twice = mapped_twice});
      EXPECT_TRUE(Refused(chunk.status(), kCreateChunk, ErrorKind::kDoesNotFit));
      EXPECT_NE(chunk.error().remedy.find("transparent_hugepage"), std::string::npos);
    }
  }
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
  EXPECT_LT(ProcessBytes("VmSize"), before + kLarge);
  EXPECT_EQ(BytesInChunkFiles(), Bytes(0));
  ExpectWholeCapacity();
}

TEST_F(CpuDeviceLimits, ADestroyedChunkGivesItsPagesBackToTheSystem) {
  const AddressRange range = memory_.ReserveAddress(kFirst, kUnit * 2, Bytes(0)).value();
  const ChunkId kept = memory_.CreateChunk(kFirst, kUnit, {.pages = PagePolicy::kSmall4K}).value();
  const ChunkId gone = memory_.CreateChunk(kFirst, kUnit, {.pages = PagePolicy::kSmall4K}).value();
  ASSERT_TRUE(memory_.Map(kFirst, At(range, 0), kept).ok());
  ASSERT_TRUE(memory_.Map(kFirst, At(range, 1), gone).ok());
  ASSERT_TRUE(memory_.SetAccess(kFirst, range.base, range.size).ok());
  std::memset(Pointer(range.base), 1, Count(range.size));
  EXPECT_EQ(BytesInChunkFiles(), kUnit * 2);
  ASSERT_TRUE(memory_.Unmap(kFirst, At(range, 1), kUnit).ok());
  ASSERT_TRUE(memory_.DestroyChunk(kFirst, gone).ok());
  EXPECT_EQ(BytesInChunkFiles(), kUnit);
}

TEST_F(CpuDeviceLimits, ADeviceThatIsDestroyedGivesEverythingBackToTheSystem) {
  const auto leave_everything = [] {
    CpuDevice device({.capacity = GiB(1)});
    DeviceMemory& memory = device.memory();
    EXPECT_TRUE(memory.AllocatePlain(kFirst, kLarge, MemoryType::kDevice).ok());
    const AddressRange range = memory.ReserveAddress(kFirst, kLarge, Bytes(0)).value();
    const ChunkId chunk = memory.CreateChunk(kFirst, kLarge, {.mapped_twice = false}).value();
    EXPECT_TRUE(memory.Map(kFirst, range.base, chunk).ok());
    EXPECT_TRUE(memory.SetAccess(kFirst, range.base, range.size).ok());
    EXPECT_TRUE(memory.Unmap(kFirst, range.base, range.size).ok());  // its bytes are elsewhere
    EXPECT_TRUE(memory.CreateChunk(kFirst, kUnit, {.pages = PagePolicy::kSmall4K}).ok());
  };
  leave_everything();
  const Bytes before = ProcessBytes("VmSize");
  const size_t files = ChunkFiles().size();
  for (int i = 0; i < 4; ++i) leave_everything();
  EXPECT_LT(ProcessBytes("VmSize"), before + kLarge);
  EXPECT_EQ(ChunkFiles().size(), files);
}

TEST_F(CpuDeviceLimits, ReservedAndFreedAddressesGoBackToTheSystem) {
  const auto come_and_go = [&] {
    const AddressRange range = memory_.ReserveAddress(kFirst, kLarge, GiB(1)).value();
    EXPECT_TRUE(memory_.ReleaseAddress(kFirst, range).ok());
    const Address block =
        memory_.AllocatePlain(kFirst, kLarge - Bytes(5), MemoryType::kDevice).value();
    EXPECT_TRUE(memory_.FreePlain(kFirst, block).ok());
    const AddressRange place = memory_.ReserveAddress(kFirst, kLarge, Bytes(0)).value();
    const ChunkId chunk = memory_.CreateChunk(kFirst, kLarge, {.mapped_twice = false}).value();
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(memory_.Map(kFirst, place.base, chunk).ok());
      EXPECT_TRUE(memory_.SetAccess(kFirst, place.base, kLarge).ok());
      EXPECT_TRUE(memory_.Unmap(kFirst, place.base, kLarge).ok());
    }
    EXPECT_TRUE(memory_.DestroyChunk(kFirst, chunk).ok());
    EXPECT_TRUE(memory_.ReleaseAddress(kFirst, place).ok());
  };
  come_and_go();
  const Bytes before = ProcessBytes("VmSize");
  for (int i = 0; i < 4; ++i) come_and_go();
  EXPECT_LT(ProcessBytes("VmSize"), before + kLarge);
}

}  // namespace cpu_device_limits_test
}  // namespace plimsoll::device
