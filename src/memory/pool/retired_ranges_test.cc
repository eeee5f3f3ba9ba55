#include "memory/pool/retired_ranges.h"

#include <array>
#include <utility>

#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace retired_ranges_test {

using device::DeviceCall;

// A full device of eight blocks of 8 MiB. Two of them that are not neighbours make room for a block
// of 16 MiB, which is then seen through a range of its own.
class StitchingAllocator {
 public:
  static constexpr int kBlocks = 8;

  explicit StitchingAllocator(size_t stitched_ranges, ExpandableOptions expandable = {},
                              bool with_stream = true)
      : machine_(Machine::Fake({.capacity = MiB(8 * kBlocks)})),
        allocator_(std::make_unique<DeviceAllocator>(
                       machine_.physical(), with_stream ? machine_.stream() : device::StreamId(),
                       expandable),
                   {.stitched_ranges = stitched_ranges}) {
    for (Block& block : blocks_) block = *allocator_.Allocate({.size = MiB(8)});
    homes_ = mappings();
  }
  ~StitchingAllocator() {
    EXPECT_TRUE(machine_.device()->SynchronizeStream(kDevice, machine_.stream()).ok());
    for (const Block& block : blocks_) EXPECT_TRUE(allocator_.Free(block).ok());
  }

  // The block over the bytes of the two, which are freed for it.
  Block Stitch(int lower, int upper) {
    EXPECT_TRUE(allocator_.Free(blocks_[lower]).ok());
    EXPECT_TRUE(allocator_.Free(blocks_[upper]).ok());
    Result<Block> block = allocator_.Allocate({.size = MiB(16)});
    EXPECT_TRUE(block.ok()) << (block.ok() ? "" : block.error().Text());
    return block.ok() ? *block : Block();
  }
  // The two are back in place of the stitched one.
  void GiveBack(const Block& stitched, int lower, int upper) {
    EXPECT_TRUE(allocator_.Free(stitched).ok());
    blocks_[lower] = *allocator_.Allocate({.size = MiB(8)});
    blocks_[upper] = *allocator_.Allocate({.size = MiB(8)});
    if (blocks_[lower].address > blocks_[upper].address) std::swap(blocks_[lower], blocks_[upper]);
  }
  // One range after the other, each over another pair.
  int StitchEveryPair() {
    int pairs = 0;
    for (int lower = 0; lower < kBlocks; ++lower) {
      for (int upper = lower + 2; upper < kBlocks; ++upper, ++pairs) {
        GiveBack(Stitch(lower, upper), lower, upper);
      }
    }
    return pairs;
  }

  int64_t mappings() const { return machine_.fake().outstanding().mappings; }
  // Mappings beyond the homes; a range over 16 MiB has eight chunks at most.
  int64_t stitched() const { return mappings() - homes_; }
  int64_t calls(DeviceCall call) const { return machine_.fake().statistics().count(call); }
  const Machine& machine() const { return machine_; }
  ScalableAllocator& allocator() { return allocator_; }

 private:
  Machine machine_;
  ScalableAllocator allocator_;
  std::array<Block, kBlocks> blocks_;
  int64_t homes_ = 0;
};

TEST(RetiredRangesTest, AreUndoneBeyondTheNumberToKeep) {
  StitchingAllocator few(3);
  StitchingAllocator many(100);
  EXPECT_EQ(few.StitchEveryPair(), 21);
  EXPECT_EQ(many.StitchEveryPair(), 21);

  EXPECT_EQ(few.calls(DeviceCall::kUnmap), 21 - 3);  // a call for each that is not kept
  EXPECT_LT(few.stitched(), many.stitched() / 4);
  EXPECT_EQ(few.calls(DeviceCall::kSynchronizeStream), 0);
  EXPECT_EQ(many.calls(DeviceCall::kUnmap), 0);
  ASSERT_TRUE(few.allocator().Trim().ok());
}

TEST(RetiredRangesTest, AreUndoneAfterTheirEventsAndNoneIsWaitedFor) {
  StitchingAllocator subject(2);
  device::FakeDevice& fake = subject.machine().fake();
  const device::StreamId stream = subject.machine().stream();
  const Block first = subject.Stitch(0, 2);
  ASSERT_TRUE(fake.EnqueueUsing(kDevice, stream, {{first.address, MiB(16)}}).ok());
  subject.GiveBack(first, 0, 2);
  subject.GiveBack(subject.Stitch(0, 3), 0, 3);

  subject.GiveBack(subject.Stitch(0, 4), 0, 4);
  EXPECT_EQ(subject.calls(DeviceCall::kUnmap), 0);  // the kernel may still read the first
  EXPECT_EQ(fake.PendingWork(stream), 1);

  fake.CompleteWork(stream, 1);
  subject.GiveBack(subject.Stitch(0, 5), 0, 5);
  EXPECT_EQ(subject.calls(DeviceCall::kUnmap), 2);
  EXPECT_EQ(subject.calls(DeviceCall::kSynchronizeStream), 0);
}

TEST(RetiredRangesTest, DoNotPileUpBehindADeviceThatLags) {
  StitchingAllocator subject(2);
  device::FakeDevice& fake = subject.machine().fake();
  const Block first = subject.Stitch(0, 2);
  ASSERT_TRUE(
      fake.EnqueueUsing(kDevice, subject.machine().stream(), {{first.address, MiB(16)}}).ok());
  subject.GiveBack(first, 0, 2);
  subject.StitchEveryPair();
  EXPECT_GE(subject.calls(DeviceCall::kUnmap), 20 - 4);
  EXPECT_GE(subject.calls(DeviceCall::kSynchronizeStream), 1);
}

TEST(RetiredRangesTest, WithoutAStreamTheDeviceIsWaitedFor) {
  StitchingAllocator subject(2, {}, false);
  subject.StitchEveryPair();
  StitchingAllocator with_stream(2);
  with_stream.StitchEveryPair();
  EXPECT_EQ(subject.stitched(), with_stream.stitched());
}

TEST(RetiredRangesTest, MakeRoomWhenTheAddressesForThemAreUsedUp) {
  StitchingAllocator subject(100, {.reservation = MiB(64)});
  EXPECT_EQ(subject.StitchEveryPair(), 21);
  EXPECT_GE(subject.calls(DeviceCall::kUnmap), 1);
}

TEST(RetiredRangesTest, AreWaitedForWhenTheAddressesAreUsedUpAndWorkIsPending) {
  StitchingAllocator subject(100, {.reservation = MiB(64)});
  device::FakeDevice& fake = subject.machine().fake();
  const device::StreamId stream = subject.machine().stream();
  for (int upper = 2; upper < 5; ++upper) {  // three ranges, each with a chunk more than it shows
    const Block block = subject.Stitch(0, upper);
    ASSERT_TRUE(fake.EnqueueUsing(kDevice, stream, {{block.address, MiB(16)}}).ok());
    subject.GiveBack(block, 0, upper);
  }
  EXPECT_EQ(subject.calls(DeviceCall::kSynchronizeStream), 0);
  subject.StitchEveryPair();
  EXPECT_EQ(fake.PendingWork(stream), 0) << "it was waited for before its memory was unmapped";
  EXPECT_GE(subject.calls(DeviceCall::kSynchronizeStream), 1);
  EXPECT_EQ(fake.outstanding().events, 0);
}

TEST(RetiredRangesTest, ATrimTakesThemAlongAndForgetsTheirEvents) {
  StitchingAllocator subject(2);
  device::FakeDevice& fake = subject.machine().fake();
  const device::StreamId stream = subject.machine().stream();
  for (int upper = 2; upper < 5; ++upper) {
    const Block block = subject.Stitch(0, upper);
    ASSERT_TRUE(fake.EnqueueUsing(kDevice, stream, {{block.address, MiB(16)}}).ok());
    subject.GiveBack(block, 0, upper);
  }
  EXPECT_EQ(fake.outstanding().events, 1) << "one is retired and waits";
  ASSERT_TRUE(subject.allocator().Trim().ok());
  EXPECT_EQ(fake.PendingWork(stream), 0);
  EXPECT_EQ(fake.outstanding().events, 0);
  EXPECT_EQ(subject.calls(DeviceCall::kUnmap), 1) << "the two that are kept show live blocks";
  subject.StitchEveryPair();
  StitchingAllocator fresh(2);
  fresh.StitchEveryPair();
  EXPECT_EQ(subject.stitched(), fresh.stitched());
}

TEST(RetiredRangesTest, ThoseThatWaitWhenTheAllocatorGoesLeaveNoEventBehind) {
  const Machine machine = Machine::Fake({.capacity = MiB(64)});
  {
    auto allocator = machine.Scalable({.stitched_ranges = 1});
    std::vector<Block> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(*allocator->Allocate({.size = MiB(8)}));
    for (int i : {0, 2, 4}) ASSERT_TRUE(allocator->Free(blocks[i]).ok());
    const auto first = allocator->Allocate({.size = MiB(16)});
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE(
        machine.fake().EnqueueUsing(kDevice, machine.stream(), {{first->address, MiB(16)}}).ok());
    ASSERT_TRUE(allocator->Free(*first).ok());
    const auto second = allocator->Allocate({.size = MiB(24)});
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(machine.fake().outstanding().events, 1);
    ASSERT_TRUE(allocator->Free(*second).ok());
    for (int i : {1, 3, 5, 6, 7}) ASSERT_TRUE(allocator->Free(blocks[i]).ok());
  }
  EXPECT_EQ(machine.fake().outstanding().events, 0);
  EXPECT_EQ(machine.fake().outstanding().mappings, 0);
  EXPECT_EQ(machine.fake().outstanding().ranges, 0);
}

TEST(RetiredRangesTest, TheOneNotUsedForLongestGoesFirst) {
  StitchingAllocator subject(2);
  subject.GiveBack(subject.Stitch(0, 2), 0, 2);
  subject.GiveBack(subject.Stitch(0, 3), 0, 3);
  subject.GiveBack(subject.Stitch(0, 2), 0, 2);  // used again, so the other is older
  const int64_t maps = subject.calls(DeviceCall::kMap);
  subject.GiveBack(subject.Stitch(0, 4), 0, 4);
  const int64_t of_one = subject.calls(DeviceCall::kMap) - maps;
  subject.GiveBack(subject.Stitch(0, 2), 0, 2);
  EXPECT_EQ(subject.calls(DeviceCall::kMap), maps + of_one) << "it was kept";
  subject.GiveBack(subject.Stitch(0, 3), 0, 3);
  EXPECT_EQ(subject.calls(DeviceCall::kMap), maps + 2 * of_one);
}

TEST(RetiredRangesTest, AFailureToUndoOneIsMadeGoodLater) {
  for (DeviceCall call : {DeviceCall::kRecordEvent, DeviceCall::kEventReached,
                          DeviceCall::kDestroyEvent, DeviceCall::kUnmap}) {
    const LogCapture quiet([](LogLevel, std::string_view) {});
    StitchingAllocator subject(3);
    subject.machine().fake().Fail({.call = call, .first = 2});
    subject.StitchEveryPair();
    StitchingAllocator faultless(3);
    faultless.StitchEveryPair();
    EXPECT_EQ(subject.stitched(), faultless.stitched()) << device::DeviceCallName(call);
    EXPECT_EQ(subject.machine().fake().outstanding().events, 0);
  }
}

}  // namespace retired_ranges_test
}  // namespace plimsoll::memory
