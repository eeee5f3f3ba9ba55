#include "plimsoll/memory/stream_ordered_allocator.h"

#include <random>
#include <thread>

#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace stream_ordered_allocator_test {

Block Take(Allocator& allocator, Bytes size, StreamId stream) {
  Request request;
  request.size = size;
  request.stream = stream;
  Result<Block> block = allocator.Allocate(request);
  EXPECT_TRUE(block.ok()) << (block.ok() ? "" : block.error().Text());
  return block.ok() ? *block : Block();
}

class StreamOrderedAllocatorTest : public testing::Test {
 protected:
  void Make(Bytes capacity) {
    device::FakeOptions options;
    options.capacity = capacity;
    machine_ = std::make_unique<Machine>(std::make_shared<device::FakeDevice>(options));
    other_ = *machine_->device()->CreateStream(kDevice);
    allocator_ = std::make_unique<StreamOrderedAllocator>(machine_->physical());
  }
  void LaunchWork(StreamId stream) {
    ASSERT_TRUE(machine_->device()->LaunchHost(kDevice, stream, [] {}).ok());
  }

  std::unique_ptr<Machine> machine_;
  StreamId other_;
  std::unique_ptr<StreamOrderedAllocator> allocator_;
};

TEST_F(StreamOrderedAllocatorTest, AFreedBlockIsReusedOnItsStreamAtOnceAndOnNoOther) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const Block block = Take(*allocator_, MiB(8), mine);
  LaunchWork(mine);
  ASSERT_TRUE(allocator_->Free(block).ok());
  EXPECT_NE(Take(*allocator_, MiB(8), other_).address, block.address);
  EXPECT_EQ(Take(*allocator_, MiB(8), mine).address, block.address);
  ASSERT_TRUE(machine_->device()->SynchronizeDevice(kDevice).ok());
}

TEST_F(StreamOrderedAllocatorTest, ARecordedBlockWaitsForTheOtherStream) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const Block block = Take(*allocator_, MiB(8), mine);
  LaunchWork(other_);
  ASSERT_TRUE(allocator_->RecordStream(block, other_).ok());
  ASSERT_TRUE(allocator_->Free(block).ok());
  EXPECT_NE(Take(*allocator_, MiB(8), mine).address, block.address);
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, other_).ok());
  EXPECT_EQ(Take(*allocator_, MiB(8), mine).address, block.address);
  EXPECT_EQ(machine_->fake().outstanding().events, 0);
}

TEST_F(StreamOrderedAllocatorTest, ABlockRecordedOnTwoStreamsWaitsForBoth) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const StreamId third = *machine_->device()->CreateStream(kDevice);
  for (const StreamId last : {other_, third}) {
    const Block block = Take(*allocator_, MiB(8), mine);
    for (const StreamId stream : {other_, third, other_}) {
      ASSERT_TRUE(allocator_->RecordStream(block, stream).ok());
    }
    LaunchWork(other_);
    LaunchWork(third);
    ASSERT_TRUE(allocator_->Free(block).ok());
    EXPECT_EQ(machine_->fake().outstanding().events, 2);
    ASSERT_TRUE(
        machine_->device()->SynchronizeStream(kDevice, last == other_ ? third : other_).ok());
    const Block neighbour = Take(*allocator_, MiB(8), mine);
    EXPECT_NE(neighbour.address, block.address);
    ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, last).ok());
    const Block again = Take(*allocator_, MiB(8), mine);
    EXPECT_EQ(again.address, block.address);
    EXPECT_EQ(machine_->fake().outstanding().events, 0);
    ASSERT_TRUE(allocator_->Free(neighbour).ok());
    ASSERT_TRUE(allocator_->Free(again).ok());
    ASSERT_TRUE(allocator_->Trim().ok());
  }
}

TEST_F(StreamOrderedAllocatorTest, ABlockThatIsFinishedDoesNotWaitForOneThatIsNot) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const StreamId third = *machine_->device()->CreateStream(kDevice);
  const Block slow = Take(*allocator_, MiB(8), mine);
  const Block quick = Take(*allocator_, MiB(8), mine);
  ASSERT_TRUE(allocator_->RecordStream(slow, other_).ok());
  ASSERT_TRUE(allocator_->RecordStream(quick, third).ok());
  LaunchWork(other_);
  LaunchWork(third);
  ASSERT_TRUE(allocator_->Free(slow).ok());
  ASSERT_TRUE(allocator_->Free(quick).ok());
  EXPECT_EQ(allocator_->statistics().live_blocks, 2) << "both are in use";
  EXPECT_EQ(allocator_->statistics().allocated, MiB(16));
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, third).ok());
  EXPECT_EQ(Take(*allocator_, MiB(8), mine).address, quick.address);
  EXPECT_EQ(allocator_->statistics().frees, 1);
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, other_).ok());
}

TEST_F(StreamOrderedAllocatorTest, ABlockThatWaitsForOtherStreamsIsFreedOnce) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const Block block = Take(*allocator_, MiB(8), mine);
  ASSERT_TRUE(allocator_->RecordStream(block, other_).ok());
  LaunchWork(other_);
  ASSERT_TRUE(allocator_->Free(block).ok());
  EXPECT_TRUE(RefusedAs(allocator_->Free(block), "memory.freed_twice"));
  EXPECT_TRUE(RefusedAs(allocator_->RecordStream(block, other_), "memory.freed_twice"));
  EXPECT_NE(Take(*allocator_, MiB(8), mine).address, block.address) << "the other stream uses it";
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, other_).ok());
  EXPECT_EQ(Take(*allocator_, MiB(8), mine).address, block.address);
  EXPECT_TRUE(RefusedAs(allocator_->Free(block), "memory.freed_twice"));
  EXPECT_EQ(allocator_->statistics().frees, 1);
}

TEST_F(StreamOrderedAllocatorTest, OnlyABlockThatLivesCanBeRecorded) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const Block block = Take(*allocator_, MiB(8), mine);
  Block stranger = block;
  stranger.key.index = 5u << 24;
  EXPECT_TRUE(RefusedAs(allocator_->RecordStream(stranger, other_), "memory.unknown_block"));
  EXPECT_TRUE(allocator_->RecordStream(Block(), other_).ok());
  ASSERT_TRUE(allocator_->Free(block).ok());
  EXPECT_TRUE(RefusedAs(allocator_->RecordStream(block, other_), "memory.freed_twice"));
  const Block again = Take(*allocator_, MiB(8), mine);
  ASSERT_EQ(again.address, block.address);
  ASSERT_TRUE(allocator_->RecordStream(again, mine).ok()) << "its own stream";
  ASSERT_TRUE(allocator_->Free(again).ok());
  EXPECT_EQ(machine_->fake().statistics().count(device::DeviceCall::kRecordEvent), 0);
}

TEST_F(StreamOrderedAllocatorTest, AFreeWhoseSecondEventFailsChangesNothing) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const StreamId third = *machine_->device()->CreateStream(kDevice);
  const Block block = Take(*allocator_, MiB(8), mine);
  ASSERT_TRUE(allocator_->RecordStream(block, other_).ok());
  ASSERT_TRUE(allocator_->RecordStream(block, third).ok());
  machine_->fake().Fail({.call = device::DeviceCall::kRecordEvent, .first = 2});
  EXPECT_TRUE(RefusedAs(allocator_->Free(block), "device.record_event"));
  EXPECT_EQ(machine_->fake().outstanding().events, 0);
  EXPECT_EQ(allocator_->statistics().live_blocks, 1);
  LaunchWork(third);
  ASSERT_TRUE(allocator_->Free(block).ok());
  EXPECT_NE(Take(*allocator_, MiB(8), mine).address, block.address) << "it still waits for both";
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, third).ok());
}

TEST_F(StreamOrderedAllocatorTest, StatisticsAreOfAllStreamsTogether) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const Block first = Take(*allocator_, MiB(16), mine);
  const Block second = Take(*allocator_, MiB(8), other_);
  EXPECT_FALSE(allocator_->Allocate({.size = GiB(2), .stream = other_}).ok());
  ASSERT_TRUE(allocator_->Free(first).ok());
  const Block third = Take(*allocator_, MiB(2), other_);
  ASSERT_TRUE(allocator_->Free(second).ok());
  const MemoryStatistics sum = allocator_->statistics();
  EXPECT_EQ(sum.allocated, MiB(2));
  EXPECT_EQ(sum.peak_allocated, MiB(24)) << "at one time, not the streams' peaks together";
  EXPECT_EQ(sum.largest_free_run, MiB(16)) << "of one stream, not of both together";
  EXPECT_EQ(sum.allocations, 3);
  EXPECT_EQ(sum.frees, 2);
  EXPECT_EQ(sum.failures, 1);
  EXPECT_EQ(sum.slow_paths, 4);
  EXPECT_EQ(sum.live_blocks, 1);
  EXPECT_EQ(sum.reserved, machine_->physical()->reserved());
  EXPECT_EQ(sum.peak_reserved, machine_->physical()->peak_reserved());
  ASSERT_TRUE(allocator_->Free(third).ok());
  const Result<Bytes> trimmed = allocator_->Trim();
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(*trimmed, sum.reserved) << "what both streams and the cache gave back";
}

TEST_F(StreamOrderedAllocatorTest, PauseAndResumeReachEveryStream) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const Block first = Take(*allocator_, MiB(16), mine);
  const Block second = Take(*allocator_, MiB(8), other_);
  ASSERT_TRUE(allocator_->Pause().ok());
  EXPECT_EQ(machine_->fake().statistics().physical, Bytes(0));
  EXPECT_EQ(allocator_->statistics().reserved, Bytes(0));
  for (const StreamId stream : {mine, other_}) {
    EXPECT_TRUE(RefusedAs(allocator_->Allocate({.size = MiB(1), .stream = stream}).status(),
                          "memory.paused"));
  }
  ASSERT_TRUE(allocator_->Resume().ok());
  EXPECT_EQ(allocator_->statistics().reserved, MiB(24));
  for (const Block& block : {first, second}) {
    EXPECT_TRUE(machine_->device()->Fill(kDevice, mine, block.address, 1, block.size).ok());
  }
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, mine).ok());
  for (const StreamId stream : {mine, other_}) Take(*allocator_, MiB(1), stream);
}

TEST_F(StreamOrderedAllocatorTest, ThereAreAtMost254Streams) {
  Make(GiB(1));
  allocator_ = std::make_unique<StreamOrderedAllocator>(
      machine_->physical(), StreamOrderedOptions{.expandable = {.reservation = MiB(4)}});
  std::vector<Block> blocks;
  for (int i = 0; i < 254; ++i) {
    blocks.push_back(Take(*allocator_, Bytes(1), *machine_->device()->CreateStream(kDevice)));
  }
  EXPECT_TRUE(
      RefusedAs(allocator_->Allocate({.size = Bytes(1), .stream = machine_->stream()}).status(),
                "memory.too_many_streams"));
  for (const Block& block : blocks) EXPECT_TRUE(allocator_->Free(block).ok());
  EXPECT_EQ(allocator_->statistics().live_blocks, 0);
}

TEST_F(StreamOrderedAllocatorTest, DestructionForgetsTheEventsOfBlocksThatWait) {
  Make(GiB(1));
  const Block block = Take(*allocator_, MiB(8), machine_->stream());
  ASSERT_TRUE(allocator_->RecordStream(block, other_).ok());
  ASSERT_TRUE(machine_->fake().EnqueueUsing(kDevice, other_, {{block.address, MiB(8)}}).ok());
  ASSERT_TRUE(allocator_->Free(block).ok());
  EXPECT_EQ(machine_->fake().outstanding().events, 1);
  std::vector<std::string> lines;
  const LogCapture capture([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  allocator_.reset();
  EXPECT_EQ(lines.size(), 1u) << "of the block that its pool still holds";
  EXPECT_EQ(machine_->fake().outstanding(), device::FakeOutstanding({.chunks = 4, .streams = 2}));
  EXPECT_EQ(machine_->physical()->cached(), MiB(8));
}

TEST_F(StreamOrderedAllocatorTest, MemoryMovesBetweenStreamsWhenTheDeviceIsFull) {
  Make(MiB(64));
  const StreamId mine = machine_->stream();
  const Block block = Take(*allocator_, MiB(48), mine);
  LaunchWork(mine);
  ASSERT_TRUE(allocator_->Free(block).ok());
  Take(*allocator_, MiB(60), other_);
  EXPECT_EQ(machine_->fake().PendingWork(mine), 0);  // it was waited for
}

TEST_F(StreamOrderedAllocatorTest, EachStreamKeepsAtMostItsLiveChunksAfterATrim) {
  Make(GiB(1));
  for (StreamId stream : {machine_->stream(), other_}) {
    ASSERT_TRUE(allocator_->Free(Take(*allocator_, MiB(100), stream)).ok());
    ASSERT_TRUE(allocator_->Free(Take(*allocator_, KiB(1), stream)).ok());
  }
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_LE(machine_->physical()->reserved(), MiB(4));
}

TEST_F(StreamOrderedAllocatorTest, R71_R72_EightThreadsShareThePhysicalLayer) {
  Make(GiB(4));
  std::vector<StreamId> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(*machine_->device()->CreateStream(kDevice));
  std::vector<std::thread> threads;
  std::atomic<int64_t> failures = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      std::vector<Block> live;
      for (int i = 0; i < 500; ++i) {
        if (live.size() < 8 || random() % 2 == 0) {
          Request request;
          request.size = Bytes(static_cast<int64_t>(random() % (8 << 20)));
          request.stream = streams[random() % streams.size()];
          const Result<Block> block = allocator_->Allocate(request);
          if (block.ok()) {
            live.push_back(*block);
          } else {
            ++failures;
          }
        } else {
          const size_t victim = random() % live.size();
          if (random() % 4 == 0 &&
              !allocator_->RecordStream(live[victim], streams[random() % streams.size()]).ok()) {
            ++failures;
          }
          if (!allocator_->Free(live[victim]).ok()) ++failures;
          live[victim] = live.back();
          live.pop_back();
        }
        if (i % 100 == 99 && !allocator_->Trim().ok()) ++failures;
      }
      for (const Block& block : live) {
        if (!allocator_->Free(block).ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_EQ(allocator_->statistics().live_blocks, 0);
  EXPECT_EQ(machine_->physical()->reserved(), Bytes(0));
}

TEST_F(StreamOrderedAllocatorTest, R73_AnObserverMayAskForStatisticsWhileItIsCalled) {
  struct Asking : MemoryObserver {
    void OnMemoryEvent(const MemoryEvent&) override { reserved = physical->reserved(); }
    PhysicalMemoryAllocator* physical = nullptr;
    Bytes reserved;
  } asking;
  PhysicalMemoryOptions options;
  options.observer = &asking;
  const Machine machine(std::make_shared<device::FakeDevice>(), options);
  asking.physical = machine.physical().get();
  StreamOrderedAllocator allocator(machine.physical());
  const Block block = Take(allocator, MiB(8), machine.stream());
  EXPECT_EQ(asking.reserved, MiB(8));
  ASSERT_TRUE(allocator.Free(block).ok());
}

}  // namespace stream_ordered_allocator_test
}  // namespace plimsoll::memory
