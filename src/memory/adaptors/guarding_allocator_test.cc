#include "plimsoll/memory/guarding_allocator.h"

#include <future>

#include "base/call_in_thread_for_tests.h"
#include "memory/conformance_fixture.h"

// Debug mode on the processor's memory, where the test can do the harm itself.
namespace plimsoll::memory {
namespace guarding_allocator_test {

class GuardingAllocatorTest : public testing::Test {
 protected:
  // The test writes from its own thread, so it waits for the guards first.
  Block Take(Bytes size, Bytes alignment = Bytes(kBlockAlignment)) {
    Result<Block> block = guarding_.Allocate({.size = size, .alignment = alignment});
    EXPECT_TRUE(block.ok()) << (block.ok() ? "" : block.error().Text());
    Synchronize();
    return block.ok() ? *block : Block();
  }
  void Synchronize() {
    ASSERT_TRUE(machine_.device()->SynchronizeStream(kDevice, machine_.stream()).ok());
  }
  static uint8_t& ByteAt(const Block& block, int64_t index) {
    return reinterpret_cast<uint8_t*>(block.address)[index];
  }
  void FillWith(const Block& block, uint8_t value) {
    std::fill_n(&ByteAt(block, 0), block.size.value(), value);
  }

  static constexpr Bytes kQuarantine = MiB(1);
  const Machine machine_{std::make_shared<device::CpuDevice>(
      device::CpuOptions{.capacity = MiB(64), .granularity = KiB(4)})};
  GuardingAllocator guarding_{machine_.Scalable(), machine_.device(), kDevice, machine_.stream(),
                              GuardOptions{.quarantine = kQuarantine}};
};

TEST_F(GuardingAllocatorTest, WritingEveryByteOfABlockIsFine) {
  for (int64_t size : {0, 1, 511, 512, 513, 100000}) {
    const Block block = Take(Bytes(size));
    FillWith(block, 7);
    EXPECT_TRUE(guarding_.Free(block).ok()) << size;
  }
  EXPECT_TRUE(guarding_.Trim().ok());
}

TEST_F(GuardingAllocatorTest, OneByteBehindABlockIsToldAtItsFree) {
  for (int64_t size : {0, 1, 1000, 4096}) {
    const Block block = Take(Bytes(size));
    ByteAt(block, size) = 1;
    const Status status = guarding_.Free(block);
    ASSERT_TRUE(RefusedAs(status, "memory.overrun")) << size;
    EXPECT_NE(status.error().why.find("behind"), std::string::npos);
    EXPECT_TRUE(
        RefusedAs(guarding_.Free(block), "memory.freed_twice"));  // it is freed all the same
  }
}

TEST_F(GuardingAllocatorTest, OneByteBeforeABlockIsToldAtItsFree) {
  for (int64_t alignment : {512, 4096}) {
    const Block block = Take(Bytes(1000), Bytes(alignment));
    ByteAt(block, -1) = 1;
    const Status status = guarding_.Free(block);
    ASSERT_TRUE(RefusedAs(status, "memory.overrun")) << alignment;
    EXPECT_NE(status.error().why.find("before"), std::string::npos);
  }
}

TEST_F(GuardingAllocatorTest, BothSidesAreNamedWhenBothAreBroken) {
  const Block block = Take(Bytes(1000));
  ByteAt(block, -512) = 1;
  ByteAt(block, 1511) = 1;
  const Status status = guarding_.Free(block);
  ASSERT_TRUE(RefusedAs(status, "memory.overrun"));
  EXPECT_NE(status.error().why.find("both sides"), std::string::npos);
}

TEST_F(GuardingAllocatorTest, AWriteAfterTheFreeIsToldWhenTheBlockLeavesQuarantine) {
  const Block block = Take(Bytes(5000));
  ASSERT_TRUE(guarding_.Free(block).ok());
  Synchronize();
  ByteAt(block, 4999) = 1;
  const Status status = guarding_.Trim().status();
  ASSERT_TRUE(RefusedAs(status, "memory.used_after_free"));
  EXPECT_NE(status.error().where.find(std::to_string(block.address)), std::string::npos);
  EXPECT_TRUE(guarding_.Trim().ok());  // told once
}

TEST_F(GuardingAllocatorTest, AFreedBlockReadsAsPoison) {
  const Block block = Take(Bytes(5000));
  FillWith(block, 7);
  ASSERT_TRUE(guarding_.Free(block).ok());
  Synchronize();
  EXPECT_EQ(ByteAt(block, 0), 0xdd);
  EXPECT_EQ(ByteAt(block, 4999), 0xdd);
}

TEST_F(GuardingAllocatorTest, ASecondFreeIsToldInQuarantineAfterItAndWithANewBlockInItsPlace) {
  const Block block = Take(MiB(2));  // more than the quarantine: it leaves at once
  ASSERT_TRUE(guarding_.Free(block).ok());
  EXPECT_TRUE(RefusedAs(guarding_.Free(block), "memory.freed_twice"));
  const Block next = Take(MiB(2));
  ASSERT_EQ(next.address, block.address);
  EXPECT_TRUE(RefusedAs(guarding_.Free(block), "memory.freed_twice"));
  EXPECT_TRUE(guarding_.Free(next).ok());

  const Block small = Take(Bytes(100));
  ASSERT_TRUE(guarding_.Free(small).ok());
  EXPECT_TRUE(RefusedAs(guarding_.Free(small), "memory.freed_twice"));
}

TEST_F(GuardingAllocatorTest, AForeignBlockIsToldEvenWithTheKeyOfOneThatLives) {
  const Block live = Take(Bytes(100));
  const Block freed = Take(Bytes(100));
  ASSERT_TRUE(guarding_.Free(freed).ok());
  for (const Block& like : {live, freed}) {
    Block foreign = like;
    foreign.address += 4096 * 100;
    EXPECT_TRUE(RefusedAs(guarding_.Free(foreign), "memory.unknown_block"));
  }
  EXPECT_TRUE(guarding_.Free(live).ok());
  EXPECT_TRUE(guarding_.Trim().ok());
  EXPECT_EQ(machine_.physical()->reserved(), Bytes(0));
}

TEST_F(GuardingAllocatorTest, QuarantineHoldsBlocksBackUpToItsLimitAndNoFurther) {
  const Block first = Take(KiB(300));
  ASSERT_TRUE(guarding_.Free(first).ok());
  const Block second = Take(KiB(300));
  EXPECT_NE(second.address, first.address);  // held back
  ASSERT_TRUE(guarding_.Free(second).ok());
  EXPECT_EQ(guarding_.statistics().live_blocks, 2);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(guarding_.Free(Take(KiB(300))).ok());
    EXPECT_LE(guarding_.statistics().allocated, kQuarantine);
  }
  EXPECT_EQ(guarding_.statistics().live_blocks, 3);  // four would be over 1 MiB
}

TEST_F(GuardingAllocatorTest, ABlockThatFillsTheQuarantineExactlyIsHeldBack) {
  GuardingAllocator exact(machine_.Scalable(), machine_.device(), kDevice, machine_.stream(),
                          GuardOptions{.quarantine = Bytes(512 + 1000 + 512)});
  for (const int64_t size : {1000, 999, 1000}) {
    const Result<Block> block = exact.Allocate({.size = Bytes(size)});
    ASSERT_TRUE(block.ok());
    ASSERT_TRUE(exact.Free(*block).ok());
    EXPECT_EQ(exact.statistics().live_blocks, 1) << "this one, and not the one before";
  }
}

TEST_F(GuardingAllocatorTest, BlocksWithoutBytesFillTheQuarantineByTheirGuards) {
  for (int i = 0; i < 1500; ++i) ASSERT_TRUE(guarding_.Free(Take(Bytes(0))).ok());
  EXPECT_LE(guarding_.statistics().live_blocks, 1024);
}

TEST_F(GuardingAllocatorTest, TheQuarantineGivesWayWhenMemoryRunsOut) {
  GuardingAllocator patient(machine_.Scalable(), machine_.device(), kDevice, machine_.stream(),
                            GuardOptions{.quarantine = GiB(1)});
  for (int i = 0; i < 10; ++i) {
    const Result<Block> block = patient.Allocate({.size = MiB(20)});
    ASSERT_TRUE(block.ok()) << block.error().Text();
    ASSERT_TRUE(patient.Free(*block).ok());
  }
  EXPECT_TRUE(RefusedAs(patient.Allocate({.size = MiB(65)}).status(), "memory.out_of_memory"));
}

TEST_F(GuardingAllocatorTest, PoisonWaitsForAllTheOtherStreamsThatUseTheBlock) {
  const StreamId others[] = {*machine_.device()->CreateStream(kDevice),
                             *machine_.device()->CreateStream(kDevice)};
  for (const StreamId held : others) {
    GuardingAllocator guarding(std::make_unique<StreamOrderedAllocator>(machine_.physical()),
                               machine_.device(), kDevice, machine_.stream());
    const Result<Block> block = guarding.Allocate({.size = KiB(64), .stream = machine_.stream()});
    ASSERT_TRUE(block.ok());
    Synchronize();
    FillWith(*block, 7);
    for (const StreamId other : others) ASSERT_TRUE(guarding.RecordStream(*block, other).ok());
    std::promise<void> gate;
    uint8_t seen = 0;
    ASSERT_TRUE(machine_.device()
                    ->LaunchHost(kDevice, held,
                                 [&, opened = gate.get_future().share()] {
                                   opened.wait();
                                   seen = ByteAt(*block, 0);
                                 })
                    .ok());
    Status freed;
    CallInThread free([&] { freed = guarding.Free(*block); });
    EXPECT_TRUE(free.Waits());
    gate.set_value();
    free.Join();
    ASSERT_TRUE(freed.ok());
    Synchronize();
    EXPECT_EQ(seen, 7);
    EXPECT_EQ(ByteAt(*block, 0), 0xdd);
    ASSERT_TRUE(guarding.Trim().ok());
  }
}

TEST_F(GuardingAllocatorTest, TheWholeOfALargeBlockIsPoisonAndIsLookedAt) {
  GuardingAllocator patient(machine_.Scalable(), machine_.device(), kDevice, machine_.stream());
  const Bytes size = KiB(64) * 3 + Bytes(700);  // more than is looked at in one go
  for (const int64_t touched : {int64_t{0}, size.value() / 2, size.value() - 1}) {
    const Result<Block> block = patient.Allocate({.size = size});
    ASSERT_TRUE(block.ok());
    ASSERT_TRUE(patient.Free(*block).ok());
    Synchronize();
    EXPECT_EQ(ByteAt(*block, touched), 0xdd);
    ByteAt(*block, touched) = 0;
    EXPECT_TRUE(RefusedAs(patient.Trim().status(), "memory.used_after_free")) << touched;
    EXPECT_EQ(patient.statistics().live_blocks, 0) << "it is given back all the same";
  }
}

TEST_F(GuardingAllocatorTest, TheFirstOfSeveralBrokenBlocksIsTold) {
  GuardingAllocator patient(machine_.Scalable(), machine_.device(), kDevice, machine_.stream());
  std::vector<Block> blocks;
  for (int i = 0; i < 3; ++i) {
    const Result<Block> block = patient.Allocate({.size = KiB(4)});
    ASSERT_TRUE(block.ok());
    blocks.push_back(*block);
  }
  for (const Block& block : blocks) ASSERT_TRUE(patient.Free(block).ok());
  Synchronize();
  ByteAt(blocks[1], 5) = 1;
  ByteAt(blocks[2], 5) = 1;
  const Status status = patient.Trim().status();
  ASSERT_TRUE(RefusedAs(status, "memory.used_after_free"));
  EXPECT_NE(status.error().where.find(std::to_string(blocks[1].address)), std::string::npos);
  EXPECT_EQ(patient.statistics().live_blocks, 0);
}

}  // namespace guarding_allocator_test
}  // namespace plimsoll::memory
