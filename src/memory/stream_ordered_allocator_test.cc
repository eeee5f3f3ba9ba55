#include "plimsoll/memory/stream_ordered_allocator.h"

#include <random>
#include <thread>

#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace {

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
  void Launch(StreamId stream) {
    ASSERT_TRUE(machine_->device()->Launch(kDevice, stream, [] {}).ok());
  }

  std::unique_ptr<Machine> machine_;
  StreamId other_;
  std::unique_ptr<StreamOrderedAllocator> allocator_;
};

TEST_F(StreamOrderedAllocatorTest, AFreedBlockIsReusedOnItsStreamAtOnceAndOnNoOther) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const Block block = Take(*allocator_, MiB(8), mine);
  Launch(mine);
  ASSERT_TRUE(allocator_->Free(block).ok());
  EXPECT_NE(Take(*allocator_, MiB(8), other_).address, block.address);
  EXPECT_EQ(Take(*allocator_, MiB(8), mine).address, block.address);
  ASSERT_TRUE(machine_->device()->SynchronizeDevice(kDevice).ok());
}

TEST_F(StreamOrderedAllocatorTest, ARecordedBlockWaitsForTheOtherStream) {
  Make(GiB(1));
  const StreamId mine = machine_->stream();
  const Block block = Take(*allocator_, MiB(8), mine);
  Launch(other_);
  ASSERT_TRUE(allocator_->RecordStream(block, other_).ok());
  ASSERT_TRUE(allocator_->Free(block).ok());
  EXPECT_NE(Take(*allocator_, MiB(8), mine).address, block.address);
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, other_).ok());
  EXPECT_EQ(Take(*allocator_, MiB(8), mine).address, block.address);
  EXPECT_EQ(machine_->fake().outstanding().events, 0);
}

TEST_F(StreamOrderedAllocatorTest, MemoryMovesBetweenStreamsWhenTheDeviceIsFull) {
  Make(MiB(64));
  const StreamId mine = machine_->stream();
  const Block block = Take(*allocator_, MiB(48), mine);
  Launch(mine);
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

}  // namespace
}  // namespace plimsoll::memory
