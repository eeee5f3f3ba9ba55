#include "plimsoll/memory/physical_memory_allocator.h"

#include <thread>

#include "memory/conformance_fixture.h"
#include "plimsoll/memory/active_memory_allocator.h"

// R74: each layer alone, below the pools.
namespace plimsoll::memory {
namespace {

using device::DeviceCall;

TEST(PhysicalMemoryAllocatorTest, R74_AReleasedChunkIsKeptAndTakenAgain) {
  const Machine machine = Machine::Fake();
  PhysicalMemoryAllocator& physical = *machine.physical();
  const ChunkId chunk = *physical.Acquire(MiB(4));
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
  ASSERT_TRUE(machine.device()->Launch(kDevice, machine.stream(), [] {}).ok());
  ASSERT_TRUE(allocator.Free(block).ok());
  log->calls.clear();
  ASSERT_TRUE(allocator.Allocate({.size = MiB(14)}).ok());
  std::vector<DeviceCall> calls;
  for (const device::FakeCall& call : log->calls) calls.push_back(*call.call);
  EXPECT_EQ(calls, (std::vector{DeviceCall::kAllocatePlain, DeviceCall::kSynchronizeDevice,
                                DeviceCall::kFreePlain, DeviceCall::kAllocatePlain}));
}

}  // namespace
}  // namespace plimsoll::memory
