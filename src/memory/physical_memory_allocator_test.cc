#include "plimsoll/memory/physical_memory_allocator.h"

#include <thread>

#include "memory/conformance_fixture.h"
#include "plimsoll/memory/active_memory_allocator.h"

// R74: each layer alone, below the pools.
namespace plimsoll::memory {
namespace physical_memory_allocator_test {

using device::DeviceCall;

TEST(PhysicalMemoryAllocatorTest, R74_AReleasedChunkIsKeptAndTakenAgain) {
  const Machine machine = Machine::Fake();
  PhysicalMemoryAllocator& physical = *machine.physical();
  const auto acquired = physical.Acquire(MiB(4));
  ASSERT_TRUE(acquired.ok());
  const ChunkId chunk = *acquired;
  physical.AddReference(chunk);
  physical.Release(chunk);
  EXPECT_EQ(physical.cached(), Bytes(0));  // another range still maps it
  physical.Release(chunk);
  EXPECT_EQ(physical.cached(), MiB(4));
  EXPECT_EQ(*physical.Acquire(MiB(4)), chunk);
  EXPECT_EQ(machine.fake().statistics().count(DeviceCall::kCreateChunk), 1);
  physical.Release(chunk);
  EXPECT_EQ(*physical.Trim(), MiB(4));
  EXPECT_EQ(physical.reserved(), Bytes(0));
}

TEST(PhysicalMemoryAllocatorTest, ARefusedChunkIsTriedAgainWithoutTheCache) {
  device::FakeOptions options;
  options.capacity = MiB(16);
  const Machine machine = Machine::Fake(options);
  machine.physical()->Release(*machine.physical()->Acquire(MiB(12)));
  const auto chunk = machine.physical()->Acquire(MiB(8));
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(machine.physical()->reserved(), MiB(8));
  machine.physical()->Release(*chunk);
}

TEST(PhysicalMemoryAllocatorTest, TheLimitIsReachedExactlyByChunksAndPlainMemoryTogether) {
  PhysicalMemoryOptions options;
  options.limit = MiB(16);
  const Machine machine(std::make_shared<device::FakeDevice>(), options);
  PhysicalMemoryAllocator& physical = *machine.physical();
  const auto chunk = physical.Acquire(MiB(8));
  const auto plain = physical.AcquirePlain(MiB(8));
  ASSERT_TRUE(chunk.ok() && plain.ok());
  EXPECT_EQ(physical.reserved(), MiB(16));
  for (const Status& refused :
       {physical.Acquire(MiB(2)).status(), physical.AcquirePlain(Bytes(1)).status()}) {
    ASSERT_TRUE(RefusedAs(refused, "memory.limit"));
    EXPECT_EQ(refused.error().kind, ErrorKind::kDoesNotFit);
  }
  ASSERT_TRUE(physical.ReleasePlain(*plain).ok());
  EXPECT_EQ(physical.reserved(), MiB(8));
  physical.Release(*chunk);
  const auto larger = physical.Acquire(MiB(16));  // the cached one goes for it
  ASSERT_TRUE(larger.ok());
  EXPECT_EQ(physical.reserved(), MiB(16));
  EXPECT_EQ(physical.peak_reserved(), MiB(16));
  physical.Release(*larger);
}

TEST(PhysicalMemoryAllocatorTest, CountersAreWholeAfterEveryFailure) {
  const Machine machine = Machine::Fake({.capacity = MiB(64)});
  PhysicalMemoryAllocator& physical = *machine.physical();
  machine.fake().Fail({.call = DeviceCall::kCreateChunk});
  EXPECT_TRUE(RefusedAs(physical.Acquire(MiB(2)).status(), "device.create_chunk"));
  machine.fake().Fail({.call = DeviceCall::kAllocatePlain});
  EXPECT_TRUE(RefusedAs(physical.AcquirePlain(MiB(2)).status(), "device.allocate_plain"));
  EXPECT_EQ(physical.reserved(), Bytes(0));
  EXPECT_EQ(physical.peak_reserved(), Bytes(0));

  const auto plain = physical.AcquirePlain(MiB(2));
  ASSERT_TRUE(plain.ok());
  machine.fake().Fail({.call = DeviceCall::kFreePlain});
  EXPECT_TRUE(RefusedAs(physical.ReleasePlain(*plain), "device.free_plain"));
  EXPECT_EQ(physical.reserved(), MiB(2));
  ASSERT_TRUE(physical.ReleasePlain(*plain).ok());
  EXPECT_EQ(physical.reserved(), Bytes(0));

  std::vector<ChunkId> chunks;
  for (const int64_t size : {2, 4, 4, 8}) chunks.push_back(*physical.Acquire(MiB(size)));
  for (const ChunkId chunk : chunks) physical.Release(chunk);
  machine.fake().Fail({.call = DeviceCall::kDestroyChunk, .first = 3});
  EXPECT_TRUE(RefusedAs(physical.Trim().status(), "device.destroy_chunk"));
  EXPECT_EQ(physical.reserved(), MiB(6));
  EXPECT_EQ(physical.cached(), MiB(6));
  EXPECT_EQ(machine.fake().statistics().physical, MiB(6));
  const auto trimmed = physical.Trim();
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(*trimmed, MiB(6));
  EXPECT_EQ(machine.fake().outstanding().chunks, 0);
  EXPECT_EQ(physical.peak_reserved(), MiB(18));
  physical.ResetPeak();
  EXPECT_EQ(physical.peak_reserved(), Bytes(0));
}

TEST(PhysicalMemoryAllocatorTest, AChunkOfAnotherSizeIsNotTakenFromTheCache) {
  const Machine machine = Machine::Fake();
  PhysicalMemoryAllocator& physical = *machine.physical();
  const ChunkId small = *physical.Acquire(MiB(2));
  const ChunkId large = *physical.Acquire(MiB(4));
  physical.Release(small);
  physical.Release(large);
  EXPECT_EQ(*physical.Acquire(MiB(4)), large);
  EXPECT_EQ(physical.cached(), MiB(2));
  EXPECT_NE(*physical.Acquire(MiB(6)), small);
  EXPECT_EQ(physical.reserved(), MiB(12));
  physical.Release(large);
}

TEST(PhysicalMemoryAllocatorTest, ARefusalOfAnotherKindLeavesTheCacheAlone) {
  const Machine machine = Machine::Fake();
  PhysicalMemoryAllocator& physical = *machine.physical();
  physical.Release(*physical.Acquire(MiB(4)));
  machine.fake().Fail({.call = DeviceCall::kCreateChunk, .kind = ErrorKind::kRunFailed});
  EXPECT_FALSE(physical.Acquire(MiB(2)).ok());
  EXPECT_EQ(physical.cached(), MiB(4));
  EXPECT_EQ(machine.fake().statistics().count(DeviceCall::kCreateChunk), 2);
}

TEST(PhysicalMemoryAllocatorTest, WhoeverFailsToReserveOnceUsesPlainMemoryFromThenOn) {
  const Machine machine = Machine::Fake();
  EXPECT_TRUE(machine.physical()->reserves_addresses());
  machine.physical()->MarkUnableToReserve();
  EXPECT_FALSE(machine.physical()->reserves_addresses());
  PhysicalMemoryAllocator another(machine.device(), kDevice);
  EXPECT_TRUE(another.reserves_addresses());
  machine.fake().Fail({.call = DeviceCall::kReserveAddress, .kind = ErrorKind::kUnsupported});
  EXPECT_FALSE(machine.device()->memory().ReserveAddressIfAble(kDevice, MiB(2), Bytes(0)).ok());
  EXPECT_FALSE(another.reserves_addresses()) << "the device said so to someone else";
}

TEST(PhysicalMemoryAllocatorTest, R72_EightThreadsCountEveryChunk) {
  const Machine machine = Machine::Fake();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto chunk = machine.physical()->Acquire(MiB(2));
        if (chunk.ok()) machine.physical()->Release(*chunk);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(machine.physical()->cached(), machine.physical()->reserved());
  EXPECT_LE(machine.physical()->reserved(), MiB(16));
}

TEST(ExpandableActiveMemoryAllocatorTest, R74_GrowsStitchesAndShrinksByItself) {
  const Machine machine = Machine::Fake();
  auto expandable = *ExpandableActiveMemoryAllocator::Create(machine.physical());
  const auto first = *expandable->Grow({MiB(4), true, false});
  const auto second = *expandable->Grow({MiB(4), true, false});
  EXPECT_EQ(second.front().home, first.front().home + (4 << 20));  // neighbours
  const std::vector<ActiveChunk> both = {second.front(), first.front()};
  const Address at = *expandable->Stitch(both);
  EXPECT_EQ(machine.physical()->reserved(), MiB(8));  // no byte more for the second mapping
  EXPECT_EQ(machine.fake().outstanding().mappings, 4);
  ASSERT_TRUE(expandable->Unstitch(at).ok());
  ASSERT_TRUE(expandable->Shrink(first.front()).ok());
  EXPECT_EQ(expandable->mapped(), MiB(4));
  expandable.reset();
  EXPECT_EQ(machine.fake().outstanding().ranges, 0);
  EXPECT_EQ(machine.fake().outstanding().mappings, 0);
}

TEST(ExpandableActiveMemoryAllocatorTest, R72_EightThreadsGrowAndShrink) {
  const Machine machine = Machine::Fake();
  auto expandable = *ExpandableActiveMemoryAllocator::Create(machine.physical());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto chunks = expandable->Grow({MiB(2), true, false});
        ASSERT_TRUE(chunks.ok());
        EXPECT_TRUE(expandable->Shrink(chunks->front()).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(expandable->mapped(), Bytes(0));
}

TEST(ActiveMemoryAllocatorTest, R74_IsTheSameFaceOverPlainMemory) {
  const Machine machine = Machine::Fake();
  ActiveMemoryAllocator active(machine.physical());
  const auto chunks = *active.Grow({Bytes(5000000), false, false});
  EXPECT_EQ(chunks.front().size, MiB(6));
  EXPECT_FALSE(active.stitches());
  EXPECT_TRUE(RefusedAs(active.Stitch(chunks).status(), "memory.plain"));
  EXPECT_TRUE(RefusedAs(active.Pause(), "memory.plain"));
  EXPECT_TRUE(active.Shrink(chunks.front()).ok());
  EXPECT_EQ(machine.fake().outstanding().plain_blocks, 0);
}

TEST(CachingMemAllocatorTest, R78_OnRefusalItSynchronisesBeforeItReleasesAndThenTriesAgain) {
  auto log = std::make_shared<device::FakeCallLog>();
  device::FakeOptions options;
  options.capacity = MiB(16);
  options.log = log;
  const Machine machine = Machine::Fake(options);
  CachingMemAllocator allocator(machine.physical());
  const Block block = *allocator.Allocate({.size = MiB(10)});
  ASSERT_TRUE(machine.device()->LaunchHost(kDevice, machine.stream(), [] {}).ok());
  ASSERT_TRUE(allocator.Free(block).ok());
  log->calls.clear();
  ASSERT_TRUE(allocator.Allocate({.size = MiB(14)}).ok());
  std::vector<DeviceCall> calls;
  for (const device::FakeCall& call : log->calls) calls.push_back(*call.call);
  EXPECT_EQ(calls, (std::vector{DeviceCall::kAllocatePlain, DeviceCall::kSynchronizeDevice,
                                DeviceCall::kFreePlain, DeviceCall::kAllocatePlain}));
}

}  // namespace physical_memory_allocator_test
}  // namespace plimsoll::memory
