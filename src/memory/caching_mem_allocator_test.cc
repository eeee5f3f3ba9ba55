#include "plimsoll/memory/caching_mem_allocator.h"

#include <set>

#include "memory/adaptors/recording_observer_for_tests.h"
#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace caching_mem_allocator_test {

using device::DeviceCall;

// A cache of 64 MiB for two streams.
class CachingMemory : public testing::Test {
 protected:
  Machine machine_ = Machine::Fake({.capacity = MiB(64)});
  const StreamId mine_ = machine_.stream();
  const StreamId other_ = *machine_.device()->CreateStream(kDevice);
  RecordingObserver observer_;
  std::unique_ptr<CachingMemAllocator> allocator_;

  void Make(Keep keep = Keep::kAll) {
    allocator_ = std::make_unique<CachingMemAllocator>(machine_.physical(), &observer_, keep);
  }
  Block Take(Bytes size, StreamId stream, std::string_view tag = "") {
    const Result<Block> block = allocator_->Allocate({.size = size, .stream = stream, .tag = tag});
    EXPECT_TRUE(block.ok()) << (block.ok() ? "" : block.error().Text());
    return block.ok() ? *block : Block();
  }
  void Give(const Block& block) { EXPECT_TRUE(allocator_->Free(block).ok()); }
  int64_t calls(DeviceCall call) const { return machine_.fake().statistics().count(call); }
};

TEST_F(CachingMemory, ABlockCachedOnOneStreamServesNoOther) {
  Make();
  const Block first = Take(MiB(8), mine_);
  Give(first);
  const Block other = Take(MiB(8), other_);
  EXPECT_NE(other.address, first.address);
  EXPECT_EQ(Take(MiB(8), mine_).address, first.address);
  Give(other);
  EXPECT_EQ(Take(MiB(8), other_).address, other.address);
}

TEST_F(CachingMemory, EachOfSeveralCachedBlocksOfOneSizeServesOnce) {
  Make();
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(Take(MiB(8), mine_));
  for (const Block& block : blocks) Give(block);
  std::set<Address> addresses;
  for (int i = 0; i < 4; ++i) addresses.insert(Take(MiB(8), mine_).address);
  EXPECT_EQ(addresses.size(), 4u);
  EXPECT_EQ(machine_.physical()->reserved(), MiB(32));
}

TEST_F(CachingMemory, AStreamWithSmallerBlocksOnlyDoesNotTakeTheNextStreams) {
  Make();
  Give(Take(MiB(2), mine_));
  const Block others = Take(MiB(8), other_);  // the next in the order of streams and sizes
  Give(others);
  EXPECT_NE(Take(MiB(8), mine_).address, others.address);
}

TEST_F(CachingMemory, ABlockUsedOnAnotherStreamWaitsForASynchronisation) {
  Make();
  const Block crossed = Take(MiB(8), mine_);
  ASSERT_TRUE(allocator_->RecordStream(crossed, other_).ok());
  ASSERT_TRUE(machine_.device()->LaunchHost(kDevice, other_, [] {}).ok());
  Give(crossed);
  EXPECT_EQ(allocator_->statistics().largest_free_run, Bytes(0));
  EXPECT_NE(Take(MiB(8), mine_).address, crossed.address);
  EXPECT_NE(Take(MiB(8), other_).address, crossed.address);
  EXPECT_EQ(machine_.fake().PendingWork(other_), 1);
  const Result<Bytes> trimmed = allocator_->Trim();
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(*trimmed, MiB(8));
  EXPECT_EQ(machine_.fake().PendingWork(other_), 0);
}

TEST_F(CachingMemory, RecordingItsOwnStreamAfterAnotherTakesNothingBack) {
  Make();
  const Block crossed = Take(MiB(8), mine_);
  ASSERT_TRUE(allocator_->RecordStream(crossed, other_).ok());
  ASSERT_TRUE(allocator_->RecordStream(crossed, mine_).ok());
  Give(crossed);
  EXPECT_NE(Take(MiB(8), mine_).address, crossed.address);
  const Block own = Take(MiB(9), mine_);
  ASSERT_TRUE(allocator_->RecordStream(own, mine_).ok());
  Give(own);
  EXPECT_EQ(Take(MiB(9), mine_).address, own.address);
}

TEST_F(CachingMemory, ABlockTakenAgainIsNoLongerCrossed) {
  Make();
  const Block crossed = Take(MiB(40), mine_);
  ASSERT_TRUE(allocator_->RecordStream(crossed, other_).ok());
  Give(crossed);
  Take(MiB(30), mine_);  // does not fit before the crossed one is given back
  EXPECT_EQ(calls(DeviceCall::kSynchronizeDevice), 1);
  const Block later = Take(MiB(20), mine_);
  Give(later);
  EXPECT_EQ(Take(MiB(20), mine_).address, later.address);
}

TEST_F(CachingMemory, AStaleBlockCannotBeRecorded) {
  Make();
  const Block block = Take(MiB(8), mine_);
  Give(block);
  EXPECT_TRUE(RefusedAs(allocator_->RecordStream(block, other_), "memory.freed_twice"));
  const Block again = Take(MiB(8), mine_);
  EXPECT_TRUE(RefusedAs(allocator_->RecordStream(block, other_), "memory.freed_twice"));
  Block stranger = again;
  stranger.key.index = 77;
  EXPECT_TRUE(RefusedAs(allocator_->RecordStream(stranger, other_), "memory.unknown_block"));
  Give(again);
  EXPECT_EQ(Take(MiB(8), mine_).address, again.address) << "it was never crossed";
}

TEST_F(CachingMemory, ACachedBlockServesWhatFillsFourFifthsOfIt) {
  Make();
  const Block block = Take(MiB(10), mine_);
  Give(block);
  const Block smaller = Take(MiB(8), mine_);
  EXPECT_EQ(smaller.address, block.address);
  EXPECT_EQ(smaller.size, MiB(8));
  Give(smaller);
  EXPECT_NE(Take(MiB(8) - KiB(4), mine_).address, block.address);
  EXPECT_EQ(allocator_->statistics().largest_free_run, MiB(10));
}

TEST_F(CachingMemory, UntilLargerABlockServesAllThatItHoldsAndGoesWhenMoreIsAsked) {
  Make(Keep::kUntilLarger);
  const Block others = Take(MiB(4), other_);
  Give(others);
  const Block block = Take(MiB(10), mine_);
  Give(block);
  const Block tiny = Take(KiB(1), mine_);
  EXPECT_EQ(tiny.address, block.address);
  Give(tiny);
  EXPECT_EQ(calls(DeviceCall::kFreePlain), 0);
  Give(Take(MiB(12), mine_));
  EXPECT_EQ(calls(DeviceCall::kFreePlain), 1);
  EXPECT_EQ(calls(DeviceCall::kSynchronizeDevice), 1);
  EXPECT_EQ(machine_.physical()->reserved(), MiB(16)) << "the other stream's stays";
  EXPECT_EQ(Take(MiB(4), other_).address, others.address);
  Give(Take(MiB(12), mine_));
  EXPECT_EQ(calls(DeviceCall::kSynchronizeDevice), 1) << "nothing smaller is there to go";
}

TEST_F(CachingMemory, ARefusalWhileSmallerBlocksGoIsCountedAndTriedAgain) {
  Make(Keep::kUntilLarger);
  Give(Take(MiB(8), mine_));
  for (const DeviceCall call : {DeviceCall::kSynchronizeDevice, DeviceCall::kFreePlain}) {
    machine_.fake().Fail({.call = call});
    const int64_t failures = allocator_->statistics().failures;
    EXPECT_FALSE(allocator_->Allocate({.size = MiB(16), .stream = mine_}).ok());
    EXPECT_EQ(allocator_->statistics().failures, failures + 1) << device::DeviceCallName(call);
    EXPECT_EQ(allocator_->statistics().largest_free_run, MiB(8)) << device::DeviceCallName(call);
  }
  Take(MiB(16), mine_);
  EXPECT_EQ(machine_.physical()->reserved(), MiB(16));
}

TEST_F(CachingMemory, AFailureInTheMiddleOfARecyclingLosesNoBlock) {
  Make();
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(Take(MiB(8), i % 2 == 0 ? mine_ : other_));
  ASSERT_TRUE(allocator_->RecordStream(blocks[3], mine_).ok());
  for (const Block& block : blocks) Give(block);
  machine_.fake().Fail({.call = DeviceCall::kFreePlain, .first = 3});
  EXPECT_TRUE(RefusedAs(allocator_->Trim().status(), "device.free_plain"));
  EXPECT_EQ(machine_.physical()->reserved(), MiB(16));
  const Result<Bytes> trimmed = allocator_->Trim();
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(*trimmed, MiB(16));
  EXPECT_EQ(machine_.fake().outstanding().plain_blocks, 0);
  for (int i = 0; i < 4; ++i) Take(MiB(16), mine_);  // and every slot serves again
  EXPECT_EQ(allocator_->statistics().live_blocks, 4);
}

TEST_F(CachingMemory, AnAlignedBlockLiesInsideItsPlainOne) {
  Make();
  ASSERT_TRUE(machine_.device()->memory().AllocatePlain(kDevice, Bytes(512), {}).ok());
  const Result<Block> block =
      allocator_->Allocate({.size = MiB(1), .alignment = MiB(1), .stream = mine_});
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->address % static_cast<uint64_t>(MiB(1).value()), 0u);
  EXPECT_TRUE(machine_.device()->Fill(kDevice, mine_, block->address, 1, MiB(1)).ok());
  ASSERT_TRUE(machine_.device()->SynchronizeStream(kDevice, mine_).ok());
  EXPECT_EQ(machine_.physical()->reserved(), MiB(2));
}

TEST_F(CachingMemory, TheObserverIsToldOfEveryBlock) {
  Make();
  const Block first = Take(MiB(2), other_, "weights");
  Give(first);
  Take(MiB(2) - KiB(1), other_, "cache");
  const auto& events = observer_.events;
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(observer_.tags, (std::vector<std::string>{"weights", "weights", "cache"}));
  EXPECT_EQ(events[1].kind, MemoryEvent::Kind::kFree);
  const Bytes bytes[] = {MiB(2), MiB(2), MiB(2) - KiB(1)};
  const Bytes allocated[] = {MiB(2), Bytes(0), MiB(2) - KiB(1)};
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].address, first.address);
    EXPECT_EQ(events[i].stream, static_cast<int64_t>(other_.index()));
    EXPECT_EQ(events[i].bytes, bytes[i]) << i;
    EXPECT_EQ(events[i].allocated, allocated[i]) << i;
    EXPECT_EQ(events[i].reserved, MiB(2)) << i;
  }
}

TEST_F(CachingMemory, DestructionWaitsForTheDeviceAndGivesEverythingBack) {
  Make();
  const Block gone[] = {Take(MiB(5), mine_), Take(MiB(6), mine_), Take(MiB(7), mine_),
                        Take(MiB(8), mine_)};
  for (const Block& block : gone) Give(block);
  ASSERT_TRUE(allocator_->Trim().ok());
  Give(Take(MiB(2), mine_));
  const Block crossed = Take(MiB(3), mine_);
  ASSERT_TRUE(allocator_->RecordStream(crossed, other_).ok());
  ASSERT_TRUE(machine_.device()->LaunchHost(kDevice, other_, [] {}).ok());
  Give(crossed);
  Take(MiB(4), other_);
  std::vector<std::string> lines;
  const LogCapture capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  allocator_.reset();
  EXPECT_EQ(lines, (std::vector<std::string>{"caching allocator destroyed with 1 blocks alive"}));
  EXPECT_EQ(machine_.physical()->reserved(), Bytes(0));
}

}  // namespace caching_mem_allocator_test
}  // namespace plimsoll::memory
