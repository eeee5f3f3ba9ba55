#include <algorithm>
#include <limits>
#include <tuple>

#include "memory/conformance_fixture.h"

// What every allocator promises, on every device, with virtual memory and without.
namespace plimsoll::memory {
namespace allocator_conformance_test {

class AllocatorConformance : public testing::TestWithParam<std::tuple<Subject, Ground>> {
 protected:
  Machine machine_{std::get<Ground>(GetParam()).make()};
  std::unique_ptr<Allocator> allocator_ = std::get<Subject>(GetParam()).make(machine_);

  Block Take(Bytes size, Bytes alignment = Bytes(kBlockAlignment)) {
    Request request;
    request.size = size;
    request.alignment = alignment;
    request.stream = machine_.stream();
    request.tag = "test";
    Result<Block> block = allocator_->Allocate(request);
    EXPECT_TRUE(block.ok()) << (block.ok() ? "" : block.error().Text());
    return block.ok() ? *block : Block();
  }
  Status TryTake(Bytes size, Bytes alignment = Bytes(kBlockAlignment)) {
    Request request;
    request.size = size;
    request.alignment = alignment;
    request.stream = machine_.stream();
    return allocator_->Allocate(request).status();
  }
  bool HoldsBytes() const { return machine_.device()->Properties(kDevice).holds_bytes; }
};

TEST_P(AllocatorConformance, BlocksOfAllSizesAreAlignedAndApart) {
  std::vector<Block> blocks;
  for (int64_t size : {0, 1, 511, 512, 513, 4096, 1 << 20, (1 << 20) + 1, 3 << 20, 5000000, 0, 1}) {
    blocks.push_back(Take(Bytes(size)));
    EXPECT_EQ(blocks.back().address % kBlockAlignment, 0u);
    EXPECT_EQ(blocks.back().size, Bytes(size));
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const Block& a, const Block& b) { return a.address < b.address; });
  for (size_t i = 0; i + 1 < blocks.size(); ++i) {
    const auto end =
        blocks[i].address + static_cast<uint64_t>(std::max<int64_t>(1, blocks[i].size.value()));
    EXPECT_LE(end, blocks[i + 1].address);
  }
  for (const Block& block : blocks) EXPECT_TRUE(allocator_->Free(block).ok());
}

TEST_P(AllocatorConformance, BytesCanBeWrittenAndReadBack) {
  const Block block = Take(Bytes(3000000));
  if (HoldsBytes()) {
    device::Device& device = *machine_.device();
    std::vector<uint8_t> bytes(static_cast<size_t>(block.size.value()));
    const auto host = reinterpret_cast<device::Address>(bytes.data());
    ASSERT_TRUE(device.Fill(kDevice, machine_.stream(), block.address, 7, block.size).ok());
    ASSERT_TRUE(device.Copy(kDevice, machine_.stream(), host, block.address, block.size).ok());
    ASSERT_TRUE(device.SynchronizeStream(kDevice, machine_.stream()).ok());
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 7), block.size.value());
  }
  EXPECT_TRUE(allocator_->Free(block).ok());
}

TEST_P(AllocatorConformance, EveryByteOfEveryBlockCanBeTouchedByTheDevice) {
  std::vector<Block> blocks;
  for (int round = 0; round < 2; ++round) {
    for (const Bytes size : {MiB(3), MiB(5), KiB(300), MiB(9), MiB(2), Bytes(1), MiB(7)}) {
      blocks.push_back(Take(size));
    }
    for (const Block& block : blocks) {
      const Status filled =
          machine_.device()->Fill(kDevice, machine_.stream(), block.address, 7, block.size);
      EXPECT_TRUE(filled.ok()) << block.size.value() << ": " << filled.error().Text();
    }
    ASSERT_TRUE(machine_.device()->SynchronizeStream(kDevice, machine_.stream()).ok());
    for (size_t i = 0; i < blocks.size(); i += 2) ASSERT_TRUE(allocator_->Free(blocks[i]).ok());
    std::vector<Block> kept;
    for (size_t i = 1; i < blocks.size(); i += 2) kept.push_back(blocks[i]);
    blocks = kept;
  }
  for (const Block& block : blocks) EXPECT_TRUE(allocator_->Free(block).ok());
}

TEST_P(AllocatorConformance, LargerAlignmentsAreKept) {
  const Block first = Take(Bytes(700));
  const Block aligned = Take(Bytes(5000), KiB(4));
  EXPECT_EQ(aligned.address % 4096, 0u);
  EXPECT_TRUE(allocator_->Free(first).ok());
  EXPECT_TRUE(allocator_->Free(aligned).ok());
}

TEST_P(AllocatorConformance, BadRequestsAreRefusedAndChangeNothing) {
  EXPECT_TRUE(RefusedAs(TryTake(Bytes(-1)), "memory.bad_size"));
  EXPECT_TRUE(RefusedAs(TryTake(Bytes(1), Bytes(0)), "memory.bad_alignment"));
  EXPECT_TRUE(RefusedAs(TryTake(Bytes(1), Bytes(768)), "memory.bad_alignment"));
  EXPECT_TRUE(RefusedAs(TryTake(Bytes(1), GiB(2)), "memory.bad_alignment"));
  for (Bytes huge : {GiB(1), GiB(1) * 1024 * 1024, Bytes(kSaturated), Bytes(kSaturated - 1)}) {
    const Status status = TryTake(huge);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kDoesNotFit) << status.error().Text();
  }
  EXPECT_EQ(allocator_->statistics().live_blocks, 0);
}

TEST_P(AllocatorConformance, FreeingNothingIsFineAndFreeingWronglyIsTold) {
  EXPECT_TRUE(allocator_->Free(Block()).ok());
  EXPECT_TRUE(RefusedAs(allocator_->Free(Block{4096, Bytes(1), {}}), "memory.unknown_block"));
  const Block block = Take(MiB(3));
  Block stranger = block;
  stranger.key.index = 12345;
  stranger.address += 512;
  EXPECT_TRUE(RefusedAs(allocator_->Free(stranger), "memory.unknown_block"));
  EXPECT_TRUE(allocator_->Free(block).ok());
  EXPECT_TRUE(RefusedAs(allocator_->Free(block), "memory.freed_twice"));
}

TEST_P(AllocatorConformance, AFreedBlockIsTakenAgainUnlessItIsHeldBackOrGivenBack) {
  const std::string& name = std::get<Subject>(GetParam()).name;
  const Block held = Take(KiB(768));
  const Block first = Take(KiB(768));
  ASSERT_TRUE(allocator_->Free(first).ok());
  const Bytes reserved = machine_.physical()->reserved();
  const Block second = Take(KiB(768));
  if (name == "Guarding") {
    EXPECT_NE(second.address, first.address);
  } else if (name == "CachingNothing") {
    EXPECT_EQ(reserved, KiB(768));
    EXPECT_EQ(machine_.physical()->reserved(), KiB(1536));
  } else {
    EXPECT_EQ(second.address, first.address);
    EXPECT_EQ(machine_.physical()->reserved(), reserved);
  }
  EXPECT_TRUE(allocator_->Free(second).ok());
  EXPECT_TRUE(allocator_->Free(held).ok());
}

TEST_P(AllocatorConformance, TrimGivesBackWhatNoBlockNeeds) {
  const Block kept = Take(MiB(3));
  const Block freed = Take(MiB(40));
  ASSERT_TRUE(allocator_->Free(freed).ok());
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_LE(machine_.physical()->reserved(), MiB(20));
  ASSERT_TRUE(allocator_->Free(kept).ok());
  ASSERT_TRUE(allocator_->Trim().ok());
  EXPECT_EQ(machine_.physical()->reserved(), Bytes(0));
}

TEST_P(AllocatorConformance, ARefusalReportsAndTheNextRequestWorks) {
  std::vector<Block> blocks;
  Status status;
  while (status.ok()) {
    Request request;
    request.size = MiB(16);
    request.stream = machine_.stream();
    request.tag = "filler";
    Result<Block> block = allocator_->Allocate(request);
    status = block.status();
    if (block.ok()) blocks.push_back(*block);
    ASSERT_LE(blocks.size(), 16u);
  }
  EXPECT_GE(blocks.size(), 13u);
  EXPECT_TRUE(RefusedAs(status, "memory.out_of_memory"));
  EXPECT_FALSE(status.error().why.empty());
  EXPECT_FALSE(status.error().remedy.empty());
  ASSERT_TRUE(allocator_->Free(blocks.back()).ok());
  blocks.back() = Take(MiB(14));
  for (const Block& block : blocks) EXPECT_TRUE(allocator_->Free(block).ok());
}

TEST_P(AllocatorConformance, StatisticsAddUp) {
  const Block a = Take(MiB(2));
  const Block b = Take(MiB(5));
  MemoryStatistics statistics = allocator_->statistics();
  EXPECT_EQ(statistics.allocations, 2);
  EXPECT_EQ(statistics.live_blocks, 2);
  EXPECT_GE(statistics.allocated, MiB(7));
  EXPECT_GE(statistics.reserved, statistics.allocated);
  ASSERT_TRUE(allocator_->Free(a).ok());
  ASSERT_TRUE(allocator_->Free(b).ok());
  ASSERT_TRUE(allocator_->Trim().ok());
  statistics = allocator_->statistics();
  EXPECT_EQ(statistics.allocated, Bytes(0));
  EXPECT_EQ(statistics.frees, 2);
  EXPECT_GE(statistics.peak_allocated, MiB(7));
}

TEST_P(AllocatorConformance, DestructionWithLiveBlocksWarnsAndLeaksNothing) {
  std::vector<std::string> errors;
  LogCapture capture([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::kError) errors.emplace_back(line);
  });
  Take(MiB(3));
  Take(Bytes(100));
  allocator_.reset();
  ASSERT_TRUE(machine_.physical()->Trim().ok());
  EXPECT_EQ(machine_.physical()->reserved(), Bytes(0));
  EXPECT_TRUE(errors.empty());
}

INSTANTIATE_TEST_SUITE_P(Every, AllocatorConformance,
                         testing::Combine(testing::ValuesIn(AllSubjects()),
                                          testing::ValuesIn(AllGrounds())),
                         [](const auto& info) {
                           return std::get<Subject>(info.param).name + "On" +
                                  std::get<Ground>(info.param).name;
                         });

}  // namespace allocator_conformance_test
}  // namespace plimsoll::memory
