// How a pool grows, shrinks, pauses and joins what it has.
#include <map>

#include "memory/conformance_fixture.h"

namespace plimsoll::memory {
namespace scalable_growth_test {

using device::DeviceCall;

class ScalableGrowth : public testing::Test {
 protected:
  void Make(device::FakeOptions options, ScalableOptions scalable = {}) {
    log_ = std::make_shared<device::FakeCallLog>();
    options.log = log_;
    machine_ = std::make_unique<Machine>(Machine::Fake(options));
    allocator_ = machine_->Scalable(std::move(scalable));
  }
  Block Take(const Request& request) {
    const Result<Block> block = allocator_->Allocate(request);
    EXPECT_TRUE(block.ok()) << (block.ok() ? "" : block.error().Text());
    return block.ok() ? *block : Block();
  }
  Block Take(Bytes size) { return Take({.size = size}); }
  void Give(const Block& block) { EXPECT_TRUE(allocator_->Free(block).ok()); }
  int64_t calls(DeviceCall call) const { return machine_->fake().statistics().count(call); }
  // How many chunks that are mapped hold a byte of the block.
  int64_t ChunksUnder(const Block& block) const {
    std::map<Address, Bytes> mapped;
    for (const device::FakeCall& call : log_->calls) {
      if (call.ok && call.call == DeviceCall::kMap) mapped[call.at] = call.size;
    }
    int64_t chunks = 0;
    for (const auto& [at, size] : mapped) {
      const bool disjoint = at >= block.address + static_cast<uint64_t>(block.size.value()) ||
                            block.address >= at + static_cast<uint64_t>(size.value());
      chunks += disjoint ? 0 : 1;
    }
    return chunks;
  }

  std::shared_ptr<device::FakeCallLog> log_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<ScalableAllocator> allocator_;
};

TEST_F(ScalableGrowth, ARefusedRequestLeavesNothingReserved) {
  Make({.capacity = GiB(25)});
  const Block kept = Take(MiB(8));
  EXPECT_TRUE(RefusedAs(allocator_->Allocate({.size = GiB(100)}).status(), "memory.out_of_memory"));
  EXPECT_EQ(machine_->physical()->reserved(), MiB(8));
  EXPECT_EQ(machine_->physical()->cached(), Bytes(0));
  Give(Take(GiB(20)));
  Give(kept);
}

TEST_F(ScalableGrowth, PausedMemoryIsNotReservedAndComesBackWhole) {
  Make({.capacity = MiB(64)});
  const Block kept = Take(MiB(8));
  Give(Take(MiB(16)));
  ASSERT_TRUE(allocator_->Pause().ok());
  MemoryStatistics statistics = allocator_->statistics();
  EXPECT_EQ(statistics.reserved, Bytes(0));
  EXPECT_EQ(statistics.peak_reserved, MiB(24));
  EXPECT_EQ(statistics.allocated, MiB(8));
  EXPECT_EQ(statistics.live_blocks, 1);
  EXPECT_EQ(machine_->physical()->reserved(), Bytes(0));
  EXPECT_TRUE(RefusedAs(allocator_->Allocate({.size = MiB(1)}).status(), "memory.paused"));
  EXPECT_EQ(allocator_->statistics().failures, 0);
  ASSERT_TRUE(allocator_->Resume().ok());
  statistics = allocator_->statistics();
  EXPECT_EQ(statistics.reserved, MiB(24));
  EXPECT_EQ(statistics.largest_free_run, MiB(16));
  EXPECT_EQ(machine_->physical()->reserved(), MiB(24));
  const int64_t created = calls(DeviceCall::kCreateChunk);
  Give(Take(MiB(16)));
  EXPECT_EQ(calls(DeviceCall::kCreateChunk), created) << "what was free is free again";
  Give(kept);
}

TEST_F(ScalableGrowth, PauseWaitsForTheStream) {
  Make({.capacity = MiB(64)});
  const Block block = Take(MiB(8));
  ASSERT_TRUE(machine_->fake()
                  .EnqueueUsing(kDevice, machine_->stream(), {{block.address, block.size}})
                  .ok());
  ASSERT_TRUE(allocator_->Pause().ok());
  EXPECT_EQ(machine_->fake().PendingWork(machine_->stream()), 0);
  ASSERT_TRUE(allocator_->Resume().ok());
}

TEST_F(ScalableGrowth, APauseThatFailsCanBeGoneBackFrom) {
  Make({.capacity = MiB(64)});
  const Block block = Take(MiB(8));
  machine_->fake().Fail({.call = DeviceCall::kUnmap, .first = 2});
  EXPECT_TRUE(RefusedAs(allocator_->Pause(), "device.unmap"));
  EXPECT_TRUE(RefusedAs(allocator_->Allocate({.size = MiB(1)}).status(), "memory.paused"));
  machine_->fake().Fail({.call = DeviceCall::kMap});
  EXPECT_TRUE(RefusedAs(allocator_->Resume(), "device.map"));
  EXPECT_TRUE(RefusedAs(allocator_->Allocate({.size = MiB(1)}).status(), "memory.paused"));
  ASSERT_TRUE(allocator_->Resume().ok());
  EXPECT_EQ(machine_->physical()->reserved(), MiB(8));
  Take(MiB(1));
  EXPECT_TRUE(machine_->device()->Fill(kDevice, machine_->stream(), block.address, 1, MiB(8)).ok());
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, machine_->stream()).ok());
}

TEST_F(ScalableGrowth, PlainMemoryCannotBePausedAndServesOn) {
  Make({.capacity = MiB(64), .reserves_addresses = false});
  Take(MiB(8));
  EXPECT_TRUE(RefusedAs(allocator_->Pause(), "memory.plain"));
  EXPECT_TRUE(allocator_->Resume().ok());
  Take(MiB(8));
}

TEST_F(ScalableGrowth, MemoryThatReturnsBetweenItsNeighboursIsOneRunWithThem) {
  Make({.capacity = MiB(64)});
  std::vector<Block> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(Take(MiB(8)));
  Give(blocks[1]);
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_EQ(allocator_->statistics().reserved, MiB(16));
  const Block again = Take(MiB(8));
  EXPECT_EQ(again.address, blocks[1].address);
  for (const Block& block : {again, blocks[0], blocks[2]}) Give(block);
  EXPECT_EQ(allocator_->statistics().largest_free_run, MiB(24));
  const int64_t maps = calls(DeviceCall::kMap);
  Take(MiB(24));
  EXPECT_EQ(calls(DeviceCall::kMap), maps);
}

TEST_F(ScalableGrowth, TrimGivesBackEveryChunkWithoutABlockAndSaysHowMuch) {
  Make({.capacity = GiB(1)});
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(Take(MiB(8)));
  Give(Take(Bytes(1)));  // an empty slab is kept for the next small block
  Give(blocks[0]);
  Give(blocks[2]);
  const Result<Bytes> trimmed = allocator_->Trim();
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(*trimmed, MiB(18));
  EXPECT_EQ(allocator_->statistics().reserved, MiB(16));
  const Result<Bytes> nothing = allocator_->Trim();
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(*nothing, Bytes(0));
}

TEST_F(ScalableGrowth, AChunkSeenThroughAStitchedBlockStaysOthersGo) {
  Make({.capacity = MiB(64)});
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Take(MiB(8)));
  for (int i = 0; i < 8; i += 2) Give(blocks[i]);
  const Block stitched = Take(MiB(24));
  for (int i = 1; i < 8; i += 2) Give(blocks[i]);
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_EQ(allocator_->statistics().reserved, MiB(24))
      << "three chunks of the four that were free";
  EXPECT_TRUE(
      machine_->device()->Fill(kDevice, machine_->stream(), stitched.address, 1, MiB(24)).ok());
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, machine_->stream()).ok());
  Give(stitched);
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_EQ(machine_->fake().outstanding().mappings, 0);
}

TEST_F(ScalableGrowth, FreeChunksOfARangeThatABlockIsSeenThroughStay) {
  Make({.capacity = MiB(64)});
  std::vector<Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Take(MiB(8)));
  for (int i : {0, 2, 4}) Give(blocks[i]);
  Give(Take(MiB(24)));
  const Block part = Take(MiB(16));  // through the same range, whose last chunks are free now
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_EQ(allocator_->statistics().reserved, MiB(64));
  EXPECT_TRUE(machine_->device()->Fill(kDevice, machine_->stream(), part.address, 1, MiB(16)).ok());
  ASSERT_TRUE(machine_->device()->SynchronizeStream(kDevice, machine_->stream()).ok());
  Give(part);
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_EQ(allocator_->statistics().reserved, MiB(40));
}

TEST_F(ScalableGrowth, SingleChunkBlocksLieInOneChunkWhateverTheirAlignment) {
  Make({});
  Give(Take(GiB(1)));  // chunks of many megabytes
  for (const Bytes size : {MiB(3), MiB(30), MiB(100)}) {
    for (const Bytes alignment : {Bytes(512), MiB(1), MiB(2)}) {
      const Block block = Take({.size = size, .alignment = alignment, .single_chunk = true});
      EXPECT_EQ(ChunksUnder(block), 1) << size.value() << " " << alignment.value();
      EXPECT_EQ(block.address % static_cast<uint64_t>(alignment.value()), 0u);
    }
  }
}

TEST_F(ScalableGrowth, AlignedBlocksOfAllSizesAreServedFromWhatIsFree) {
  Make({.capacity = MiB(64)});
  Take(Bytes(512));
  const Block held = Take(MiB(16));
  Give(held);
  const int64_t created = calls(DeviceCall::kCreateChunk);
  std::vector<Block> blocks;
  for (const Bytes size : {KiB(1), KiB(100), MiB(3), MiB(5)}) {
    const Block block = Take({.size = size, .alignment = KiB(256)});
    EXPECT_EQ(block.address % static_cast<uint64_t>(KiB(256).value()), 0u);
    for (const Block& other : blocks) {
      EXPECT_TRUE(block.address >= other.address + static_cast<uint64_t>(other.size.value()) ||
                  other.address >= block.address + static_cast<uint64_t>(block.size.value()));
    }
    blocks.push_back(block);
  }
  EXPECT_EQ(calls(DeviceCall::kCreateChunk), created);
  for (const Block& block : blocks) Give(block);
  EXPECT_EQ(allocator_->statistics().largest_free_run, MiB(16));
}

TEST_F(ScalableGrowth, AProgramThatFreesGrowsInFinerChunksThanOneThatLoads) {
  Make({.capacity = GiB(80)});
  Take(GiB(1));
  const int64_t loading = calls(DeviceCall::kCreateChunk);
  Make({.capacity = GiB(80)});
  Give(Take(MiB(64)));
  const int64_t before = calls(DeviceCall::kCreateChunk);
  Take(GiB(1));
  EXPECT_GT(calls(DeviceCall::kCreateChunk) - before, 2 * loading);
}

TEST_F(ScalableGrowth, RecyclingIsAskedForLastAndItsGiftIsUsed) {
  int asked = 0;
  ChunkId held;
  Make({.capacity = MiB(64)}, {.recycle = [&]() -> Result<Bytes> {
         ++asked;
         if (!held.valid()) return Bytes(0);
         machine_->physical()->Release(held);
         held = ChunkId();
         return MiB(32);
       }});
  Result<ChunkId> chunk = machine_->physical()->Acquire(MiB(32));
  ASSERT_TRUE(chunk.ok());
  held = *chunk;
  Take(MiB(30));
  EXPECT_EQ(asked, 0);
  Take(MiB(20));
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(allocator_->Allocate({.size = MiB(40)}).ok());
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(allocator_->statistics().failures, 1);
  EXPECT_EQ(allocator_->statistics().allocations, 2);
}

TEST_F(ScalableGrowth, PlainMemoryGrowsByWholePagesAndNoByteMore) {
  Make({.capacity = MiB(64), .reserves_addresses = false});
  Take(MiB(4));
  EXPECT_EQ(machine_->physical()->reserved(), MiB(4));
  Take(MiB(4) + Bytes(1));
  EXPECT_EQ(machine_->physical()->reserved(), MiB(10));
}

TEST_F(ScalableGrowth, ASlabIsAsLargeAsSaidAndNoSmallerThanAPage) {
  struct Case {
    Bytes granularity, slab, reserved;
  };
  for (const Case& c : {Case{KiB(4), MiB(2), MiB(2)}, Case{KiB(4), KiB(64), KiB(64)},
                        Case{MiB(8), MiB(2), MiB(8)}}) {
    Make({.capacity = MiB(64), .granularity = c.granularity}, {.slab = c.slab});
    Take(KiB(1));
    EXPECT_EQ(machine_->physical()->reserved(), c.reserved) << c.slab.value();
  }
}

TEST_F(ScalableGrowth, WhereNoSlabFitsASmallBlockIsCutFromWhatIsLeft) {
  for (const bool reserves : {true, false}) {
    Make({.capacity = MiB(4), .reserves_addresses = reserves});
    Take(MiB(3));
    std::vector<Block> small;
    for (int i = 0; i < 4; ++i) small.push_back(Take(KiB(256)));
    EXPECT_FALSE(allocator_->Allocate({.size = Bytes(1)}).ok()) << "every byte is taken";
    for (const Block& block : small) Give(block);
    EXPECT_EQ(allocator_->statistics().largest_free_run, MiB(1));
  }
}

TEST_F(ScalableGrowth, ARefusalLeavesFreeBytesForTheNextRequest) {
  Make({.capacity = MiB(64)});
  const Block first = Take(MiB(24));
  Take(MiB(24));
  Give(first);
  EXPECT_TRUE(RefusedAs(allocator_->Allocate({.size = MiB(48)}).status(), "memory.out_of_memory"));
  EXPECT_EQ(Take(MiB(24)).address, first.address);
  Take(MiB(16));
  EXPECT_EQ(machine_->fake().statistics().physical, MiB(64));
}

TEST_F(ScalableGrowth, AProgramThatStartsOverMakesTheSameChoicesAndNoDeviceCall) {
  Make({.capacity = GiB(4)});
  const auto pass = [&] {
    std::vector<Address> addresses;
    std::vector<Block> blocks;
    for (int i = 0; i < 40; ++i) {
      blocks.push_back(Take(MiB(3 + i * 7 % 31)));
      addresses.push_back(blocks.back().address);
      if (i % 3 == 2) {
        Give(blocks[static_cast<size_t>(i) - 1]);
        blocks[static_cast<size_t>(i) - 1] = Take(KiB(300));
      }
    }
    for (int i = 0; i < 2000; ++i) Give(Take(KiB(5)));  // enough to start over
    for (const Block& block : blocks) Give(block);
    return addresses;
  };
  const std::vector<Address> first = pass();
  const int64_t made = machine_->fake().statistics().total();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pass(), first) << i;
  EXPECT_EQ(machine_->fake().statistics().total(), made);
  EXPECT_TRUE(allocator_->Trim().ok());
  EXPECT_EQ(machine_->physical()->reserved(), Bytes(0)) << "what was set aside goes back too";
}

TEST_F(ScalableGrowth, MappingsBeyondWhatRequestsPayForGiveWayToNewMemory) {
  constexpr int kHoles = 128;
  Make({.capacity = GiB(80)});
  std::vector<Block> blocks;
  for (int i = 0; i < 2 * kHoles; ++i) blocks.push_back(Take(MiB(12)));
  const Block ballast = Take(GiB(40));
  for (int i = 0; i < 2 * kHoles; i += 2) Give(blocks[static_cast<size_t>(i)]);
  const Bytes before = machine_->physical()->reserved();
  int holes = 2;
  for (; holes < kHoles && machine_->physical()->reserved() == before; ++holes) {
    Give(Take(MiB(12 * holes)));
  }
  EXPECT_LT(holes, kHoles) << "each size needs a range of its own";
  EXPECT_GT(holes * holes / 2, 1024) << "and that many are free";
  for (int i = 1; i < 2 * kHoles; i += 2) Give(blocks[static_cast<size_t>(i)]);
  Give(ballast);
}

}  // namespace scalable_growth_test
}  // namespace plimsoll::memory
