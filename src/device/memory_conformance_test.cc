// The rules of DeviceMemory, for every backend.
#include <algorithm>
#include <iterator>
#include <set>

#include "device/conformance_fixture.h"
#include "plimsoll/base/log.h"
#include "plimsoll/device/reservation.h"

namespace plimsoll::device {
namespace memory_conformance_test {

using enum DeviceCall;

class MemoryConformance : public DeviceConformance {};
INSTANTIATE_TEST_SUITE_P(Backends, MemoryConformance, testing::ValuesIn(AllBackends()),
                         BackendName);

TEST_P(MemoryConformance, GranularityIsAPowerOfTwoAndNothingForNoDevice) {
  EXPECT_GT(unit_, Bytes(0));
  EXPECT_EQ(unit_.value() & (unit_.value() - 1), 0);
  EXPECT_EQ(memory_.Granularity(kNoDevice), Bytes(0));
}

TEST_P(MemoryConformance, ReserveRefusesImpossibleSizes) {
  for (const Bytes size : {Bytes(0), Bytes(-1), Bytes(1), unit_ + Bytes(1), unit_ * -1, kLargest}) {
    EXPECT_TRUE(Refused(memory_.ReserveAddress(kFirst, size, Bytes(0)).status(), kReserveAddress))
        << size.value();
  }
  for (const int64_t alignment : {int64_t{3}, int64_t{-2}, (unit_ * 3).value()}) {
    EXPECT_TRUE(
        Refused(memory_.ReserveAddress(kFirst, unit_, Bytes(alignment)).status(), kReserveAddress))
        << alignment;
  }
}

TEST_P(MemoryConformance, ReserveOfMoreThanAllAddressesDoesNotFit) {
  const Bytes size(kLargest.value() / unit_.value() * unit_.value());
  EXPECT_TRUE(Refused(memory_.ReserveAddress(kFirst, size, Bytes(0)).status(), kReserveAddress,
                      ErrorKind::kDoesNotFit));
  EXPECT_TRUE(Refused(memory_.ReserveAddress(kFirst, unit_, Bytes(int64_t{1} << 62)).status(),
                      kReserveAddress, ErrorKind::kDoesNotFit));
}

TEST_P(MemoryConformance, RangesAreAlignedAndDisjoint) {
  std::set<Address> bases;
  for (const Bytes alignment : {Bytes(0), Bytes(1), unit_, MiB(64), GiB(1)}) {
    const auto range = memory_.ReserveAddress(kFirst, unit_ * 2, alignment);
    ASSERT_TRUE(range.ok());
    const Bytes kept = std::max(alignment, unit_);
    EXPECT_EQ(range->base % static_cast<uint64_t>(kept.value()), 0u) << alignment.value();
    bases.insert(range->base);
  }
  ASSERT_EQ(bases.size(), 5u);
  for (auto base = bases.begin(); std::next(base) != bases.end(); ++base) {
    EXPECT_GE(*std::next(base) - *base, Units(2));
  }
}

TEST_P(MemoryConformance, R79_AddressesAreReservedAheadAndMemoryFollowsOnDemand) {
  const Bytes before = Free(kFirst);
  const auto range = memory_.ReserveAddress(kFirst, DefaultReservation(), Bytes(0));
  ASSERT_TRUE(range.ok());
  EXPECT_GT(range->size, kCapacity);
  EXPECT_EQ(Free(kFirst), before);
  for (int64_t grown = 1; grown <= 4; ++grown) {
    ASSERT_TRUE(memory_.Map(kFirst, range->base + Units(grown - 1), Create()).ok());
    EXPECT_EQ(Free(kFirst), before - unit_ * grown);
  }
}

TEST_P(MemoryConformance, ReleaseWantsExactlyTheRangeAndOnce) {
  const AddressRange range = Reserve(4);
  const AddressRange wrong[] = {{range.base, unit_},
                                {range.base, unit_ * 5},
                                {range.base + Units(1), unit_ * 3},
                                {0, range.size},
                                {range.base, Bytes(0)}};
  for (const AddressRange& other : wrong) {
    EXPECT_TRUE(Refused(memory_.ReleaseAddress(kFirst, other), kReleaseAddress));
  }
  EXPECT_TRUE(Refused(memory_.ReleaseAddress(kSecond, range), kReleaseAddress));
  EXPECT_TRUE(memory_.ReleaseAddress(kFirst, range).ok());
  EXPECT_TRUE(Refused(memory_.ReleaseAddress(kFirst, range), kReleaseAddress));
}

TEST_P(MemoryConformance, ReleaseIsRefusedWhileMemoryIsMappedInside) {
  const AddressRange range = Reserve(4);
  const ChunkId chunk = Create();
  ASSERT_TRUE(memory_.Map(kFirst, range.base + Units(3), chunk).ok());
  EXPECT_TRUE(Refused(memory_.ReleaseAddress(kFirst, range), kReleaseAddress));
  ASSERT_TRUE(memory_.Unmap(kFirst, range.base + Units(3), unit_).ok());
  EXPECT_TRUE(memory_.ReleaseAddress(kFirst, range).ok());
}

TEST_P(MemoryConformance, CreateRefusesImpossibleSizesAndTooMuch) {
  for (const Bytes size : {Bytes(0), Bytes(-1), Bytes(1), unit_ + Bytes(1), kLargest}) {
    EXPECT_TRUE(Refused(memory_.CreateChunk(kFirst, size, {}).status(), kCreateChunk))
        << size.value();
  }
  const Bytes absurd(kLargest.value() / unit_.value() * unit_.value());
  for (const Bytes size : {kCapacity + unit_, absurd}) {
    EXPECT_TRUE(Refused(memory_.CreateChunk(kFirst, size, {}).status(), kCreateChunk,
                        ErrorKind::kDoesNotFit));
  }
}

TEST_P(MemoryConformance, AFullDeviceRefusesAndServesAgainAfterDestroy) {
  const auto all = memory_.CreateChunk(kFirst, kCapacity, {});
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(Refused(memory_.CreateChunk(kFirst, unit_, {}).status(), kCreateChunk,
                      ErrorKind::kDoesNotFit));
  EXPECT_TRUE(Refused(memory_.AllocatePlain(kFirst, Bytes(1), MemoryType::kDevice).status(),
                      kAllocatePlain, ErrorKind::kDoesNotFit));
  EXPECT_TRUE(memory_.CreateChunk(kSecond, unit_, {}).ok());
  ASSERT_TRUE(memory_.DestroyChunk(kFirst, *all).ok());
  EXPECT_TRUE(memory_.CreateChunk(kFirst, kCapacity, {}).ok());
}

TEST_P(MemoryConformance, DestroyRefusesStrangersMappedAndTwice) {
  const ChunkId chunk = Create();
  const AddressRange range = Reserve(2);
  EXPECT_TRUE(Refused(memory_.DestroyChunk(kFirst, ChunkId()), kDestroyChunk));
  EXPECT_TRUE(Refused(memory_.DestroyChunk(kFirst, ChunkId(999)), kDestroyChunk));
  EXPECT_TRUE(Refused(memory_.DestroyChunk(kSecond, chunk), kDestroyChunk));
  ASSERT_TRUE(memory_.Map(kFirst, range.base, chunk).ok());
  ASSERT_TRUE(memory_.Map(kFirst, range.base + Units(1), chunk).ok());
  EXPECT_TRUE(Refused(memory_.DestroyChunk(kFirst, chunk), kDestroyChunk));
  ASSERT_TRUE(memory_.Unmap(kFirst, range.base, unit_).ok());
  EXPECT_TRUE(Refused(memory_.DestroyChunk(kFirst, chunk), kDestroyChunk));
  ASSERT_TRUE(memory_.Unmap(kFirst, range.base + Units(1), unit_).ok());
  EXPECT_TRUE(memory_.DestroyChunk(kFirst, chunk).ok());
  EXPECT_TRUE(Refused(memory_.DestroyChunk(kFirst, chunk), kDestroyChunk));
}

TEST_P(MemoryConformance, AStaleIdNeverMeansANewerChunk) {
  const ChunkId old = Create();
  ASSERT_TRUE(memory_.DestroyChunk(kFirst, old).ok());
  EXPECT_NE(Create(), old);
  EXPECT_TRUE(Refused(memory_.DestroyChunk(kFirst, old), kDestroyChunk));
}

TEST_P(MemoryConformance, MapWantsFreeAddressesInsideOneRange) {
  const AddressRange range = Reserve(4);
  const ChunkId chunk = Create(2);
  for (const Address at : {Address{0}, range.base - Units(1), range.base + Units(3),
                           range.base + Units(4), range.base + 1, ~Address{0} - Units(1) + 1}) {
    EXPECT_TRUE(Refused(memory_.Map(kFirst, at, chunk), kMap)) << at - range.base;
  }
  ASSERT_TRUE(memory_.Map(kFirst, range.base + Units(1), chunk).ok());
  for (int64_t place : {0, 1, 2}) {
    EXPECT_TRUE(Refused(memory_.Map(kFirst, range.base + Units(place), Create(2)), kMap)) << place;
  }
  EXPECT_TRUE(memory_.Map(kFirst, range.base, Create()).ok());
  EXPECT_TRUE(memory_.Map(kFirst, range.base + Units(3), Create()).ok());
}

TEST_P(MemoryConformance, MapRefusesStrangersAndOtherDevices) {
  const AddressRange range = Reserve(4);
  const AddressRange foreign = Reserve(4, kSecond);
  EXPECT_TRUE(Refused(memory_.Map(kFirst, range.base, ChunkId()), kMap));
  EXPECT_TRUE(Refused(memory_.Map(kFirst, range.base, ChunkId(999)), kMap));
  EXPECT_TRUE(Refused(memory_.Map(kFirst, range.base, Create(1, kSecond)), kMap));
  EXPECT_TRUE(Refused(memory_.Map(kFirst, foreign.base, Create()), kMap));
  EXPECT_TRUE(Refused(memory_.Map(kSecond, range.base, Create(1, kSecond)), kMap));
}

TEST_P(MemoryConformance, AChunkMayAppearAtSeveralAddressesIfItWasMadeForIt) {
  const AddressRange range = Reserve(3);
  const ChunkId shared = Create();
  EXPECT_TRUE(memory_.Map(kFirst, range.base, shared).ok());
  EXPECT_TRUE(memory_.Map(kFirst, range.base + Units(1), shared).ok());
  const auto single = memory_.CreateChunk(kFirst, unit_, {.mapped_twice = false});
  ASSERT_TRUE(single.ok());
  ASSERT_TRUE(memory_.Map(kFirst, range.base + Units(2), *single).ok());
  const AddressRange other = Reserve(1);
  EXPECT_TRUE(Refused(memory_.Map(kFirst, other.base, *single), kMap));
  ASSERT_TRUE(memory_.Unmap(kFirst, range.base + Units(2), unit_).ok());
  EXPECT_TRUE(memory_.Map(kFirst, other.base, *single).ok());
}

TEST_P(MemoryConformance, UnmapTakesRunsOfWholeChunksOnly) {
  const AddressRange range = Reserve(8);
  ASSERT_TRUE(memory_.Map(kFirst, range.base, Create(2)).ok());
  ASSERT_TRUE(memory_.Map(kFirst, range.base + Units(2), Create(2)).ok());
  ASSERT_TRUE(memory_.Map(kFirst, range.base + Units(5), Create(1)).ok());
  struct Case {
    int64_t at, units;
  };
  for (const Case& c : {Case{0, 1}, Case{1, 1}, Case{0, 3}, Case{1, 3}, Case{0, 0}, Case{0, -2},
                        Case{0, 6}, Case{4, 1}, Case{4, 2}, Case{0, 9}, Case{9, 1}}) {
    EXPECT_TRUE(Refused(memory_.Unmap(kFirst, range.base + Units(c.at), unit_ * c.units), kUnmap))
        << c.at << " " << c.units;
  }
  EXPECT_TRUE(Refused(memory_.Unmap(kFirst, range.base, kLargest), kUnmap));
  EXPECT_TRUE(Refused(memory_.Unmap(kSecond, range.base, unit_ * 2), kUnmap));
  EXPECT_TRUE(memory_.Unmap(kFirst, range.base, unit_ * 4).ok());
  EXPECT_TRUE(Refused(memory_.Unmap(kFirst, range.base, unit_ * 4), kUnmap));
  EXPECT_TRUE(memory_.Unmap(kFirst, range.base + Units(5), unit_).ok());
  EXPECT_TRUE(memory_.ReleaseAddress(kFirst, range).ok());
}

TEST_P(MemoryConformance, AccessIsGivenToRunsOfWholeChunksAndEndsWithTheMapping) {
  const AddressRange range = Reserve(4);
  const StreamId stream = Stream();
  EXPECT_TRUE(Refused(memory_.SetAccess(kFirst, range.base, unit_), kSetAccess));
  const ChunkId chunk = Create(2);
  ASSERT_TRUE(memory_.Map(kFirst, range.base, chunk).ok());
  ASSERT_TRUE(memory_.Map(kFirst, range.base + Units(2), Create()).ok());
  EXPECT_TRUE(Refused(memory_.SetAccess(kFirst, range.base, unit_), kSetAccess));
  EXPECT_TRUE(Refused(memory_.SetAccess(kFirst, range.base, unit_ * 4), kSetAccess));
  EXPECT_TRUE(Refused(memory_.SetAccess(kFirst, range.base, Bytes(0)), kSetAccess));
  EXPECT_TRUE(Refused(memory_.SetAccess(kSecond, range.base, unit_ * 2), kSetAccess));
  EXPECT_TRUE(Refused(device_->Fill(kFirst, stream, range.base, 1, unit_), kFill));
  EXPECT_TRUE(memory_.SetAccess(kFirst, range.base, unit_ * 3).ok());
  EXPECT_TRUE(memory_.SetAccess(kFirst, range.base, unit_ * 3).ok());
  EXPECT_TRUE(device_->Fill(kFirst, stream, range.base, 1, unit_ * 3).ok());
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  ASSERT_TRUE(memory_.Unmap(kFirst, range.base, unit_ * 2).ok());
  ASSERT_TRUE(memory_.Map(kFirst, range.base, chunk).ok());
  EXPECT_TRUE(Refused(device_->Fill(kFirst, stream, range.base, 1, unit_), kFill));
}

TEST_P(MemoryConformance, PlainBlocksAreAlignedAndFreedOnceByTheirAddress) {
  for (const Bytes size : {Bytes(0), Bytes(-1)}) {
    EXPECT_TRUE(
        Refused(memory_.AllocatePlain(kFirst, size, MemoryType::kDevice).status(), kAllocatePlain));
  }
  for (const Bytes size : {kCapacity + Bytes(1), kLargest}) {
    EXPECT_TRUE(Refused(memory_.AllocatePlain(kFirst, size, MemoryType::kDevice).status(),
                        kAllocatePlain, ErrorKind::kDoesNotFit));
  }
  const Bytes before = Free(kFirst);
  for (const Bytes size : {Bytes(1), Bytes(513), MiB(2) - Bytes(1), MiB(2), MiB(5) + Bytes(7)}) {
    const auto block = memory_.AllocatePlain(kFirst, size, MemoryType::kDevice);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(*block % static_cast<uint64_t>(properties_.alignment.value()), 0u);
    EXPECT_LE(Free(kFirst), before - size);
    for (const Address stranger : {Address{0}, *block + 1, *block + 512}) {
      EXPECT_TRUE(Refused(memory_.FreePlain(kFirst, stranger), kFreePlain));
    }
    EXPECT_TRUE(Refused(memory_.FreePlain(kSecond, *block), kFreePlain));
    EXPECT_TRUE(memory_.FreePlain(kFirst, *block).ok());
    EXPECT_TRUE(Refused(memory_.FreePlain(kFirst, *block), kFreePlain));
  }
  EXPECT_EQ(Free(kFirst), before);
}

TEST_P(MemoryConformance, MemoryInUseByPendingWorkIsNotTakenAway) {
  const AddressRange range = Mapped(1);
  const auto block = memory_.AllocatePlain(kFirst, KiB(64), MemoryType::kDevice);
  ASSERT_TRUE(block.ok());
  const StreamId stream = Stream();
  Gate gate;
  ASSERT_TRUE(device_->LaunchHost(kFirst, stream, gate.Work()).ok());
  ASSERT_TRUE(device_->Copy(kFirst, stream, *block, range.base, KiB(4)).ok());
  EXPECT_TRUE(Refused(memory_.Unmap(kFirst, range.base, unit_), kUnmap));
  EXPECT_TRUE(Refused(memory_.FreePlain(kFirst, *block), kFreePlain));
  gate.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(memory_.Unmap(kFirst, range.base, unit_).ok());
  EXPECT_TRUE(memory_.FreePlain(kFirst, *block).ok());
}

TEST_P(MemoryConformance, PendingWorkKeepsWhatItTouchesAndNotItsNeighbours) {
  const AddressRange range = Mapped(3);
  const StreamId stream = Stream();
  Gate gate;
  const StreamId elsewhere = Stream(kSecond);
  ASSERT_TRUE(device_->LaunchHost(kSecond, elsewhere, gate.Work()).ok());
  const auto held = device_->RecordEvent(kSecond, elsewhere);
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE(device_->WaitEvent(kFirst, stream, *held).ok());
  ASSERT_TRUE(device_->Fill(kFirst, stream, range.base + Units(1), 1, unit_).ok());
  EXPECT_TRUE(memory_.Unmap(kFirst, range.base, unit_).ok());
  EXPECT_TRUE(memory_.Unmap(kFirst, range.base + Units(2), unit_).ok());
  EXPECT_TRUE(Refused(memory_.Unmap(kFirst, range.base + Units(1), unit_), kUnmap));
  gate.Open();
  ASSERT_TRUE(device_->SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(memory_.Unmap(kFirst, range.base + Units(1), unit_).ok());
}

TEST_P(MemoryConformance, AllOfTheCapacityCanBeHadInOnePlainBlock) {
  for (int i = 0; i < 2; ++i) {
    const auto block = memory_.AllocatePlain(kFirst, kCapacity, MemoryType::kDevice);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(Free(kFirst), Bytes(0));
    EXPECT_EQ(Free(kSecond), kCapacity);
    ASSERT_TRUE(memory_.FreePlain(kFirst, *block).ok());
  }
}

TEST_P(MemoryConformance, R76_MemoryLandsOnTheNamedDeviceWhileAnotherIsCurrent) {
  ASSERT_TRUE(device_->SetCurrent(kFirst).ok());
  ASSERT_EQ(device_->Current(), kFirst);
  const Bytes first = Free(kFirst);
  const Bytes second = Free(kSecond);
  const AddressRange range = Mapped(2, kSecond);
  const auto block = memory_.AllocatePlain(kSecond, MiB(1), MemoryType::kDevice);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(Free(kFirst), first);
  EXPECT_EQ(Free(kSecond), second - unit_ * 2 - MiB(1));
  const StreamId stream = Stream(kSecond);
  EXPECT_TRUE(device_->Fill(kSecond, stream, range.base, 7, range.size).ok());
  EXPECT_TRUE(device_->SynchronizeStream(kSecond, stream).ok());
  EXPECT_TRUE(Refused(memory_.Unmap(kFirst, range.base, range.size), kUnmap));
  EXPECT_TRUE(Refused(memory_.FreePlain(kFirst, *block), kFreePlain));
  EXPECT_TRUE(Refused(device_->SynchronizeStream(kFirst, stream), kSynchronizeStream));
  EXPECT_EQ(device_->Current(), kFirst);
}

TEST_P(MemoryConformance, R81_ADeviceWithoutVirtualMemorySaysSoOnceAndQuietly) {
  device_ = GetParam().make(false);
  EXPECT_FALSE(device_->Properties(kSecond).reserves_addresses);
  std::vector<std::pair<LogLevel, std::string>> lines;
  {
    const LogCapture capture([&](LogLevel level, std::string_view line) {
      lines.emplace_back(level, std::string(line));
    });
    for (int attempt = 0; attempt < 3; ++attempt) {
      EXPECT_TRUE(Refused(device_->memory().ReserveAddress(kSecond, unit_, Bytes(0)).status(),
                          kReserveAddress, ErrorKind::kUnsupported));
    }
  }
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].first, LogLevel::kInfo);
  EXPECT_NE(lines[0].second.find("device 1"), std::string::npos);
  EXPECT_TRUE(device_->memory().AllocatePlain(kSecond, MiB(1), MemoryType::kDevice).ok());
}

TEST_P(MemoryConformance, InfoTellsTotalAndFree) {
  const auto info = memory_.Info(kFirst);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->total, kCapacity);
  EXPECT_EQ(info->free, kCapacity);
}

}  // namespace memory_conformance_test
}  // namespace plimsoll::device
