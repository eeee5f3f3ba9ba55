// The two address spaces of an expandable range, homes and stitched ranges: whatever fails, no
// address is lost.
#include "memory/conformance_fixture.h"
#include "plimsoll/memory/active_memory_allocator.h"
#include "plimsoll/memory/expandable_active_memory_allocator.h"

namespace plimsoll::memory {
namespace expandable_addresses_test {

using device::DeviceCall;
using device::FakeOutstanding;

constexpr Bytes kAddresses = MiB(16);

class ExpandableAddresses : public testing::Test {
 protected:
  Machine machine_ = Machine::Fake();
  std::unique_ptr<ExpandableActiveMemoryAllocator> expandable_ = std::move(
      *ExpandableActiveMemoryAllocator::Create(machine_.physical(), {.reservation = kAddresses}));

  Result<std::vector<ActiveChunk>> Grow(Bytes size) {
    return expandable_->Grow({.size = size, .single_chunk = true});
  }
  ActiveChunk MustGrow(Bytes size) {
    const auto grown = Grow(size);
    EXPECT_TRUE(grown.ok()) << (grown.ok() ? "" : grown.error().Text());
    return grown.ok() ? grown->front() : ActiveChunk();
  }
  FakeOutstanding outstanding() const { return machine_.fake().outstanding(); }
};

TEST_F(ExpandableAddresses, ShrinkingReturnsThem) {
  for (int i = 0; i < 5; ++i) {
    const ActiveChunk whole = MustGrow(kAddresses);
    EXPECT_TRUE(RefusedAs(Grow(MiB(2)).status(), "memory.addresses_exhausted"));
    EXPECT_EQ(expandable_->mapped(), kAddresses);
    ASSERT_TRUE(expandable_->Shrink(whole).ok());
    EXPECT_EQ(expandable_->mapped(), Bytes(0));
  }
  EXPECT_EQ(machine_.physical()->cached(), kAddresses);
  EXPECT_EQ(outstanding().mappings, 0);
}

TEST_F(ExpandableAddresses, MoreThanThereAreIsRefusedAtOnceAndNotCutIntoChunks) {
  for (const Bytes size : {kAddresses + Bytes(1), Bytes(int64_t{1} << 60), Bytes(kSaturated)}) {
    for (const bool single : {false, true}) {
      const auto grown = expandable_->Grow({.size = size, .single_chunk = single});
      EXPECT_TRUE(RefusedAs(grown.status(), "memory.addresses_exhausted")) << size.value();
    }
  }
  EXPECT_EQ(machine_.fake().statistics().count(DeviceCall::kCreateChunk), 0);
}

TEST_F(ExpandableAddresses, UnstitchingReturnsThem) {
  const std::vector<ActiveChunk> both = {MustGrow(MiB(8)), MustGrow(MiB(8))};
  for (int i = 0; i < 5; ++i) {
    const auto at = expandable_->Stitch(both);
    ASSERT_TRUE(at.ok()) << at.error().Text();
    const auto refused = expandable_->Stitch(both);
    ASSERT_TRUE(RefusedAs(refused.status(), "memory.addresses_exhausted"));
    EXPECT_EQ(refused.error().kind, ErrorKind::kDoesNotFit);
    EXPECT_EQ(outstanding().mappings, 4);
    ASSERT_TRUE(expandable_->Unstitch(*at).ok());
  }
}

TEST_F(ExpandableAddresses, AFailedGrowthReturnsThemAndItsChunks) {
  for (const DeviceCall call :
       {DeviceCall::kCreateChunk, DeviceCall::kMap, DeviceCall::kSetAccess}) {
    for (const int64_t first : {1, 2}) {
      machine_.fake().Fail({.call = call, .first = first});
      const auto grown = expandable_->Grow({.size = kAddresses});
      machine_.fake().ClearFailures();
      if (grown.ok()) {  // it makes one such call only
        EXPECT_EQ(call, DeviceCall::kSetAccess);
        for (const ActiveChunk& chunk : *grown) ASSERT_TRUE(expandable_->Shrink(chunk).ok());
        continue;
      }
      EXPECT_EQ(outstanding().mappings, 0) << device::DeviceCallName(call);
      EXPECT_EQ(expandable_->mapped(), Bytes(0));
      EXPECT_EQ(machine_.physical()->cached(), machine_.physical()->reserved());
      ASSERT_TRUE(expandable_->Shrink(MustGrow(kAddresses)).ok());
    }
  }
  ASSERT_TRUE(machine_.physical()->Trim().ok());
  EXPECT_EQ(outstanding().chunks, 0);
}

TEST_F(ExpandableAddresses, AFailedStitchReturnsThemAndKeepsTheHomes) {
  const std::vector<ActiveChunk> both = {MustGrow(MiB(8)), MustGrow(MiB(8))};
  struct Case {
    DeviceCall call;
    int64_t first;
  };
  for (const Case& c :
       {Case{DeviceCall::kMap, 1}, Case{DeviceCall::kMap, 2}, Case{DeviceCall::kSetAccess, 1}}) {
    machine_.fake().Fail({.call = c.call, .first = c.first});
    EXPECT_FALSE(expandable_->Stitch(both).ok());
    EXPECT_EQ(outstanding().mappings, 2);
    const auto at = expandable_->Stitch(both);
    ASSERT_TRUE(at.ok()) << at.error().Text();
    ASSERT_TRUE(expandable_->Unstitch(*at).ok());
  }
  for (const ActiveChunk& chunk : both) ASSERT_TRUE(expandable_->Shrink(chunk).ok());
  EXPECT_EQ(machine_.physical()->cached(), MiB(16)) << "no reference is left behind";
}

TEST_F(ExpandableAddresses, WhatCannotBeUnmappedStaysAndGoesLater) {
  const ActiveChunk first = MustGrow(MiB(8));
  const ActiveChunk second = MustGrow(MiB(8));
  const std::vector<ActiveChunk> both = {first, second};
  const auto at = expandable_->Stitch(both);
  ASSERT_TRUE(at.ok());
  machine_.fake().Fail({.call = DeviceCall::kUnmap});
  EXPECT_TRUE(RefusedAs(expandable_->Unstitch(*at), "device.unmap"));
  EXPECT_TRUE(RefusedAs(expandable_->Stitch(both).status(), "memory.addresses_exhausted"));
  ASSERT_TRUE(expandable_->Unstitch(*at).ok());
  machine_.fake().Fail({.call = DeviceCall::kUnmap});
  EXPECT_TRUE(RefusedAs(expandable_->Shrink(first), "device.unmap"));
  EXPECT_EQ(expandable_->mapped(), MiB(16));
  EXPECT_EQ(machine_.physical()->cached(), Bytes(0));
  ASSERT_TRUE(expandable_->Shrink(first).ok());
  ASSERT_TRUE(expandable_->Shrink(second).ok());
  EXPECT_EQ(expandable_->mapped(), Bytes(0));
  EXPECT_EQ(machine_.physical()->cached(), MiB(16));
}

TEST_F(ExpandableAddresses, AChunkInAStitchedRangeIsNobodysUntilBothMappingsAreGone) {
  const ActiveChunk only = MustGrow(MiB(8));
  const auto at = expandable_->Stitch(std::span(&only, 1));
  ASSERT_TRUE(at.ok());
  ASSERT_TRUE(expandable_->Shrink(only).ok());
  EXPECT_EQ(machine_.physical()->cached(), Bytes(0));
  ASSERT_TRUE(expandable_->Unstitch(*at).ok());
  EXPECT_EQ(machine_.physical()->cached(), MiB(8));
}

TEST_F(ExpandableAddresses, EveryFailureOfPauseAndResumeCanBeTriedAgainOrGoneBackFrom) {
  const std::vector<ActiveChunk> both = {MustGrow(MiB(8)), MustGrow(MiB(4))};
  ASSERT_TRUE(expandable_->Stitch(both).ok());
  const auto expect_mapped = [&] {
    EXPECT_EQ(outstanding().mappings, 4);
    EXPECT_EQ(outstanding().chunks, 2);
    EXPECT_EQ(machine_.physical()->reserved(), MiB(12));
    EXPECT_EQ(machine_.physical()->cached(), Bytes(0));
    EXPECT_EQ(expandable_->mapped(), MiB(12));
  };
  const auto expect_paused = [&] {
    EXPECT_EQ(outstanding().mappings, 0);
    EXPECT_EQ(outstanding().chunks, 0);
    EXPECT_EQ(machine_.physical()->reserved(), Bytes(0));
  };
  for (const bool back : {false, true}) {
    for (int64_t call = 1; call <= 5; ++call) {  // three runs are unmapped, two chunks destroyed
      machine_.fake().Fail({.first = call});
      EXPECT_FALSE(expandable_->Pause().ok()) << call;
      if (!back) {
        ASSERT_TRUE(expandable_->Pause().ok());
        expect_paused();
      }
      ASSERT_TRUE(expandable_->Resume().ok());
      expect_mapped();
    }
    for (int64_t call = 1; call <= 9; ++call) {  // create, map, access twice; map twice, access
      ASSERT_TRUE(expandable_->Pause().ok());
      machine_.fake().Fail({.first = call});
      EXPECT_FALSE(expandable_->Resume().ok()) << call;
      if (back) {
        ASSERT_TRUE(expandable_->Pause().ok());
        expect_paused();
      }
      ASSERT_TRUE(expandable_->Resume().ok());
      expect_mapped();
    }
  }
}

TEST(ExpandableCreationTest, AFailureGivesTheFirstRangeBack) {
  const Machine machine = Machine::Fake();
  for (const int64_t first : {1, 2}) {
    machine.fake().Fail({.call = DeviceCall::kReserveAddress, .first = first});
    EXPECT_TRUE(RefusedAs(ExpandableActiveMemoryAllocator::Create(machine.physical()).status(),
                          "device.reserve_address"));
    EXPECT_EQ(machine.fake().outstanding(), FakeOutstanding{.streams = 1});
  }
  EXPECT_TRUE(ExpandableActiveMemoryAllocator::Create(machine.physical()).ok());
  EXPECT_EQ(machine.fake().outstanding(), FakeOutstanding{.streams = 1});
}

TEST(ExpandableCreationTest, WhatCannotBeGivenBackAtTheEndIsToldAsAWarning) {
  for (const DeviceCall call : {DeviceCall::kUnmap, DeviceCall::kReleaseAddress}) {
    int warnings = 0;
    const LogCapture capture(
        [&](LogLevel level, std::string_view) { warnings += level == LogLevel::kWarning ? 1 : 0; });
    const Machine machine = Machine::Fake();
    auto expandable = std::move(*ExpandableActiveMemoryAllocator::Create(machine.physical()));
    ASSERT_TRUE(expandable->Grow({.size = MiB(2)}).ok());
    machine.fake().Fail({.call = call, .times = device::FakeFailure::kForEver});
    expandable.reset();
    EXPECT_GE(warnings, 1) << device::DeviceCallName(call);
    machine.fake().ClearFailures();
  }
}

TEST(ActiveMemoryAllocatorTest, AFailedFreeKeepsTheBlockAndAFailedGrowthNone) {
  const Machine machine = Machine::Fake({.capacity = MiB(16)});
  ActiveMemoryAllocator active(machine.physical());
  EXPECT_FALSE(active.Grow({.size = MiB(17)}).ok());
  const auto grown = active.Grow({.size = MiB(16)});
  ASSERT_TRUE(grown.ok());
  machine.fake().Fail({.call = DeviceCall::kFreePlain});
  EXPECT_TRUE(RefusedAs(active.Shrink(grown->front()), "device.free_plain"));
  EXPECT_EQ(machine.physical()->reserved(), MiB(16));
  ASSERT_TRUE(active.Shrink(grown->front()).ok());
  EXPECT_EQ(machine.physical()->reserved(), Bytes(0));
  EXPECT_TRUE(RefusedAs(active.Unstitch(0), "memory.plain"));
  EXPECT_TRUE(active.Resume().ok());
  EXPECT_EQ(active.granularity(), MiB(2));
}

}  // namespace expandable_addresses_test
}  // namespace plimsoll::memory
