#include "core/private_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/heap_statistics.h"
#include "plimsoll/device/fake_device.h"

namespace plimsoll::pytorch {
namespace private_pool_test {

constexpr device::DeviceId kDevice{0};

class StreamArenaTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    device::FakeOptions options;
    options.capacity = GiB(4);
    options.reserves_addresses = GetParam();
    device_ = std::make_shared<device::FakeDevice>(options);
    physical_ = std::make_shared<memory::PhysicalMemoryAllocator>(device_, kDevice);
    stream_ = *device_->CreateStream(kDevice);
    arena_ = std::make_unique<StreamArena>(physical_, stream_);
  }
  std::shared_ptr<device::FakeDevice> device_;
  std::shared_ptr<memory::PhysicalMemoryAllocator> physical_;
  device::StreamId stream_;
  std::unique_ptr<StreamArena> arena_;
};

INSTANTIATE_TEST_SUITE_P(VirtualAndPlain, StreamArenaTest, testing::Bool());

TEST_P(StreamArenaTest, BlocksNeverOverlapAndCheckpointsComeBackWhateverHappens) {
  std::mt19937_64 draw(11);
  std::map<device::Address, int64_t> live;
  std::vector<std::vector<LiveBlock>> checkpoints;
  const auto overlaps = [&](device::Address at, int64_t size) {
    const auto above = live.upper_bound(at);
    if (above != live.end() && above->first < at + static_cast<uint64_t>(BlockBytes(size)))
      return true;
    if (above == live.begin()) return false;
    const auto below = std::prev(above);
    return below->first + static_cast<uint64_t>(BlockBytes(below->second)) > at;
  };
  for (int step = 0; step < 3000; ++step) {
    const uint64_t choice = draw() % 100;
    if (choice < 50 || live.empty()) {
      const auto size = static_cast<int64_t>(1 + draw() % (choice < 10 ? (9u << 20) : 60'000));
      const Result<device::Address> at = arena_->Allocate(size, true);
      ASSERT_TRUE(at.ok()) << at.error().Text();
      ASSERT_FALSE(overlaps(*at, size));
      live[*at] = size;
    } else if (choice < 97) {
      auto victim = live.begin();
      std::advance(victim, static_cast<int64_t>(draw() % live.size()));
      EXPECT_EQ(arena_->Free(victim->first), victim->second);
      live.erase(victim);
    } else if (choice == 97 || checkpoints.empty()) {
      checkpoints.push_back(arena_->Live());
    } else {
      const std::vector<LiveBlock>& wanted = checkpoints[draw() % checkpoints.size()];
      ASSERT_TRUE(arena_->Restore(wanted).ok());
      live.clear();
      for (const LiveBlock& block : wanted) live[block.address] = block.requested;
    }
    ASSERT_EQ(arena_->Live().size(), live.size());
  }
  std::vector<Segment> segments;
  arena_->AppendSegments({}, segments);
  int64_t tiled = 0;
  for (const Segment& segment : segments) tiled += segment.size;
  EXPECT_EQ(tiled, arena_->reserved());
  EXPECT_EQ(Bytes(tiled), physical_->reserved());
}

TEST_P(StreamArenaTest, IdleChunksGoBackAndBlocksStay) {
  const device::Address first = *arena_->Allocate(MiB(2).value(), true);
  const device::Address second = *arena_->Allocate(MiB(2).value(), true);
  const device::Address third = *arena_->Allocate(MiB(2).value(), true);
  arena_->Free(first);
  arena_->Free(third);
  EXPECT_EQ(*arena_->ReleaseIdle(), MiB(4));
  EXPECT_EQ(arena_->reserved(), MiB(2).value());
  ASSERT_EQ(arena_->Live().size(), 1u);
  EXPECT_EQ(arena_->Live()[0].address, second);
  EXPECT_NE(*arena_->Allocate(MiB(5).value(), true), second);
}

TEST_P(StreamArenaTest, WithoutLeaveToGrowAFullArenaRefuses) {
  EXPECT_EQ(arena_->Allocate(100, false).error().kind, ErrorKind::kDoesNotFit);
  arena_->Free(*arena_->Allocate(MiB(8).value(), true));
  EXPECT_TRUE(arena_->Allocate(MiB(8).value(), false).ok());
}

TEST_P(StreamArenaTest, AFailureWhileChunksGoBackLosesNoBlock) {
  const device::Address kept = *arena_->Allocate(MiB(2).value(), true);
  arena_->Free(*arena_->Allocate(MiB(6).value(), true));
  device_->Fail({.call = GetParam() ? device::DeviceCall::kUnmap : device::DeviceCall::kFreePlain,
                 .first = 1});
  EXPECT_FALSE(arena_->ReleaseIdle().ok());
  device_->ClearFailures();
  EXPECT_EQ(arena_->Live()[0].address, kept);
  EXPECT_EQ(*arena_->ReleaseIdle(), MiB(6));
}

}  // namespace private_pool_test
}  // namespace plimsoll::pytorch
