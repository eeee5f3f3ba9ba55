#include <cstdlib>
#include <map>
#include <random>

#include "memory/conformance_fixture.h"

// A second bookkeeper for the allocator: whatever it does, blocks are disjoint and aligned, lie in
// memory that is mapped, and no byte is lost.
namespace plimsoll::memory {
namespace shadow_model_test {

class Shadow {
 public:
  void Add(const Block& block) {
    const uint64_t size = std::max<uint64_t>(1, static_cast<uint64_t>(block.size.value()));
    ASSERT_EQ(block.address % kBlockAlignment, 0u);
    const auto above = live_.lower_bound(block.address);
    if (above != live_.end()) {
      ASSERT_LE(block.address + size, above->first);
    }
    if (above != live_.begin()) {
      ASSERT_LE(std::prev(above)->second, block.address);
    }
    live_[block.address] = block.address + size;
    bytes_ += block.size;
  }
  void Remove(const Block& block) {
    ASSERT_EQ(live_.erase(block.address), 1u);
    bytes_ -= block.size;
  }
  Bytes bytes() const { return bytes_; }

 private:
  std::map<Address, Address> live_;  // from start to end
  Bytes bytes_;
};

int64_t Operations() {
  const char* wanted = std::getenv("PLIMSOLL_SHADOW_OPERATIONS");
  return wanted != nullptr ? std::atoll(wanted) : 1000000;
}

Bytes RandomSize(std::mt19937_64& random) {
  const int magnitude = static_cast<int>(random() % 27);
  return Bytes(static_cast<int64_t>(random() % (uint64_t{1} << magnitude)));
}

TEST(ShadowModelTest, AMillionOperationsKeepBlocksDisjointAlignedAndCounted) {
  device::FakeOptions options;
  options.capacity = GiB(1);
  const Machine machine = Machine::Fake(options);
  auto allocator = machine.Scalable();
  Shadow shadow;
  std::mt19937_64 random(1);
  std::vector<Block> live;
  int64_t refused = 0;
  const int64_t operations = Operations();
  for (int64_t i = 0; i < operations; ++i) {
    const bool grow = live.size() < 8 || (live.size() < 400 && random() % 2 == 0);
    if (grow) {
      const Result<Block> block = allocator->Allocate({.size = RandomSize(random)});
      if (block.ok()) {
        shadow.Add(*block);
        live.push_back(*block);
      } else {
        ASSERT_EQ(block.error().code, "memory.out_of_memory");
        ++refused;
      }
    } else {
      const size_t victim = random() % live.size();
      shadow.Remove(live[victim]);
      ASSERT_TRUE(allocator->Free(live[victim]).ok());
      live[victim] = live.back();
      live.pop_back();
    }
    if (HasFatalFailure()) return;
    if (i % 100000 == 0) {
      ASSERT_TRUE(allocator->Trim().ok());
      for (const Block& block : live) {  // containment: every byte is mapped with access
        const Status filled = machine.device()->Fill(kDevice, machine.stream(), block.address, 0,
                                                     std::max(Bytes(1), block.size));
        ASSERT_TRUE(filled.ok()) << filled.error().Text();
      }
      ASSERT_TRUE(machine.device()->SynchronizeStream(kDevice, machine.stream()).ok());
    }
    ASSERT_EQ(allocator->statistics().allocated, shadow.bytes());
  }
  EXPECT_GT(refused, 0);  // the device was small enough to be full at times
  for (const Block& block : live) ASSERT_TRUE(allocator->Free(block).ok());
  ASSERT_TRUE(allocator->Trim().ok());
  EXPECT_EQ(machine.fake().outstanding().chunks, 0);
  EXPECT_EQ(machine.fake().outstanding().mappings, 0);
}

}  // namespace shadow_model_test
}  // namespace plimsoll::memory
