// Adaptors over an allocator that refuses: what fails below them leaves them as they were.
#include "memory/adaptors/recording_observer_for_tests.h"
#include "memory/conformance_fixture.h"
#include "plimsoll/device/watched_device.h"

namespace plimsoll::memory {
namespace adaptors_test {

// Hands out addresses in a row, and fails what it is told to.
class ScriptedAllocator final : public Allocator {
 public:
  Result<Block> Allocate(const Request& request) override {
    ++calls;
    if (fails) return Failure();
    last = request;
    return Block{Address{4096} * ++next_, request.size, {static_cast<uint32_t>(next_), 0}};
  }
  Status Free(const Block&) override { return Answer(); }
  Status RecordStream(const Block&, StreamId stream) override {
    last.stream = stream;
    return Answer();
  }
  Result<Bytes> Trim() override {
    if (fails) return Failure();
    return MiB(7);
  }
  MemoryStatistics statistics() const override {
    MemoryStatistics statistics;
    statistics.allocated = MiB(1);
    statistics.reserved = MiB(2);
    statistics.peak_reserved = MiB(3);
    statistics.largest_free_run = MiB(4);
    statistics.allocations = 99;
    return statistics;
  }

  bool fails = false;
  int calls = 0;
  Request last;

 private:
  static Error Failure() { return {ErrorKind::kRunFailed, "test.failed", "failed", "", "", ""}; }
  Status Answer() {
    ++calls;
    return fails ? Status(Failure()) : Status();
  }
  uint64_t next_ = 0;
};

struct Limited {
  ScriptedAllocator* under = new ScriptedAllocator;
  LimitingAllocator allocator{std::unique_ptr<Allocator>(under), MiB(10)};
};

TEST(LimitingAllocatorTest, TheLimitIsReachedExactlyAndNoByteMore) {
  Limited limited;
  const auto first = limited.allocator.Allocate({.size = MiB(10) - Bytes(1)});
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(limited.allocator.Allocate({.size = Bytes(1)}).ok());
  const int calls = limited.under->calls;
  const auto refused = limited.allocator.Allocate({.size = Bytes(1)});
  ASSERT_TRUE(RefusedAs(refused.status(), "memory.limit"));
  EXPECT_EQ(refused.error().kind, ErrorKind::kDoesNotFit);
  EXPECT_NE(refused.error().why.find("10 MiB of the limit of 10 MiB"), std::string::npos);
  EXPECT_EQ(limited.under->calls, calls) << "the allocator below is not asked";
  EXPECT_TRUE(limited.allocator.Allocate({.size = Bytes(0)}).ok());
  ASSERT_TRUE(limited.allocator.Free(*first).ok());
  EXPECT_TRUE(limited.allocator.Allocate({.size = MiB(10) - Bytes(1)}).ok());
}

TEST(LimitingAllocatorTest, WhatIsRefusedBelowIsNotCharged) {
  Limited limited;
  limited.under->fails = true;
  EXPECT_TRUE(RefusedAs(limited.allocator.Allocate({.size = MiB(10)}).status(), "test.failed"));
  EXPECT_TRUE(RefusedAs(limited.allocator.Allocate({.size = Bytes(-5)}).status(), "test.failed"));
  limited.under->fails = false;
  EXPECT_TRUE(limited.allocator.Allocate({.size = MiB(10)}).ok());
  EXPECT_TRUE(RefusedAs(limited.allocator.Allocate({.size = Bytes(1)}).status(), "memory.limit"));
}

TEST(LimitingAllocatorTest, AFailedFreeStaysCharged) {
  Limited limited;
  const auto block = limited.allocator.Allocate({.size = MiB(10)});
  ASSERT_TRUE(block.ok());
  limited.under->fails = true;
  EXPECT_TRUE(RefusedAs(limited.allocator.Free(*block), "test.failed"));
  EXPECT_TRUE(RefusedAs(limited.allocator.Allocate({.size = Bytes(1)}).status(), "memory.limit"));
  limited.under->fails = false;
  EXPECT_TRUE(limited.allocator.Free(*block).ok());
  EXPECT_TRUE(limited.allocator.Allocate({.size = MiB(10)}).ok());
}

TEST(LimitingAllocatorTest, EverythingElseIsTheAllocatorBelow) {
  Limited limited;
  const auto block = limited.allocator.Allocate({.size = MiB(1)});
  ASSERT_TRUE(block.ok());
  EXPECT_TRUE(limited.allocator.RecordStream(*block, StreamId(7)).ok());
  EXPECT_EQ(limited.under->last.stream, StreamId(7));
  const auto trimmed = limited.allocator.Trim();
  ASSERT_TRUE(trimmed.ok());
  EXPECT_EQ(*trimmed, MiB(7));
  EXPECT_EQ(limited.allocator.statistics().allocations, 99);
  limited.under->fails = true;
  EXPECT_TRUE(RefusedAs(limited.allocator.RecordStream(*block, StreamId(7)), "test.failed"));
  EXPECT_TRUE(RefusedAs(limited.allocator.Trim().status(), "test.failed"));
}

struct Observed {
  RecordingObserver observer;
  ScriptedAllocator* under = new ScriptedAllocator;
  ObservingAllocator allocator{std::unique_ptr<Allocator>(under), DeviceId{3}, &observer};
};

TEST(ObservingAllocatorTest, EveryBlockIsToldWithAllThatIsKnownOfIt) {
  Observed observed;
  const auto first =
      observed.allocator.Allocate({.size = MiB(2), .stream = StreamId(5), .tag = "weights"});
  const auto second = observed.allocator.Allocate({.size = MiB(3)});
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(observed.allocator.Free(*first).ok());
  const auto& events = observed.observer.events;
  ASSERT_EQ(events.size(), 3u);
  for (const MemoryEvent& event : events) EXPECT_EQ(event.device, 3);
  EXPECT_EQ(events[0].kind, MemoryEvent::Kind::kAllocate);
  EXPECT_EQ(events[0].stream, 5);
  EXPECT_EQ(events[0].address, first->address);
  EXPECT_EQ(events[0].bytes, MiB(2));
  EXPECT_EQ(events[0].allocated, MiB(2));
  EXPECT_EQ(observed.observer.tags[0], "weights");
  EXPECT_EQ(events[1].address, second->address);
  EXPECT_EQ(events[1].stream, 0);
  EXPECT_EQ(events[1].allocated, MiB(5));
  EXPECT_EQ(events[2].kind, MemoryEvent::Kind::kFree);
  EXPECT_EQ(events[2].address, first->address);
  EXPECT_EQ(events[2].bytes, MiB(2));
  EXPECT_EQ(events[2].allocated, MiB(3));
}

TEST(ObservingAllocatorTest, WhatFailsBelowIsCountedAsAFailureAndToldToNobody) {
  Observed observed;
  const auto block = observed.allocator.Allocate({.size = MiB(2)});
  ASSERT_TRUE(block.ok());
  observed.under->fails = true;
  EXPECT_FALSE(observed.allocator.Allocate({.size = MiB(3)}).ok());
  EXPECT_FALSE(observed.allocator.Free(*block).ok());
  EXPECT_TRUE(RefusedAs(observed.allocator.Trim().status(), "test.failed"));
  EXPECT_TRUE(RefusedAs(observed.allocator.RecordStream(*block, StreamId(1)), "test.failed"));
  EXPECT_EQ(observed.observer.events.size(), 1u);
  MemoryStatistics statistics = observed.allocator.statistics();
  EXPECT_EQ(statistics.allocated, MiB(2));
  EXPECT_EQ(statistics.live_blocks, 1);
  EXPECT_EQ(statistics.frees, 0);
  EXPECT_EQ(statistics.failures, 1);
  observed.under->fails = false;
  EXPECT_TRUE(observed.allocator.Free(*block).ok());
  EXPECT_TRUE(observed.allocator.Free(Block()).ok());
  statistics = observed.allocator.statistics();
  EXPECT_EQ(statistics.allocated, Bytes(0));
  EXPECT_EQ(statistics.peak_allocated, MiB(2));
  EXPECT_EQ(statistics.frees, 1);
  EXPECT_EQ(statistics.live_blocks, 0);
  EXPECT_EQ(statistics.reserved, MiB(2));
  EXPECT_EQ(statistics.peak_reserved, MiB(3));
  EXPECT_EQ(statistics.largest_free_run, MiB(4));
  EXPECT_EQ(observed.observer.events.size(), 2u);
}

// Real memory whose fills and copies can be made to fail below the guards.
class GuardingFaults : public testing::Test {
 protected:
  std::shared_ptr<device::WatchedDevice> watched_ =
      std::make_shared<device::WatchedDevice>(std::make_shared<device::CpuDevice>(
          device::CpuOptions{.capacity = MiB(64), .granularity = KiB(4)}));
  const Machine machine_{watched_};
  GuardingAllocator guarding_{machine_.Scalable(), watched_, kDevice, machine_.stream(),
                              GuardOptions{.quarantine = Bytes(0)}};
};

TEST_F(GuardingFaults, ABlockWhoseGuardsCannotBeWrittenIsGivenBack) {
  const auto warm = guarding_.Allocate({.size = KiB(100)});
  ASSERT_TRUE(warm.ok());
  ASSERT_TRUE(guarding_.Free(*warm).ok());
  for (int64_t skipped = 0; skipped < 2; ++skipped) {  // the guard before, the guard behind
    watched_->FailAfter(skipped, ErrorKind::kRunFailed);
    EXPECT_TRUE(RefusedAs(guarding_.Allocate({.size = KiB(100)}).status(), "device.fill"));
    EXPECT_EQ(guarding_.statistics().live_blocks, 0) << skipped;
    EXPECT_EQ(guarding_.statistics().allocated, Bytes(0)) << skipped;
  }
  EXPECT_TRUE(guarding_.Allocate({.size = KiB(100)}).ok());
}

TEST_F(GuardingFaults, ABlockThatCannotBeLookedAtStaysAliveAndCanBeFreedLater) {
  const auto block = guarding_.Allocate({.size = KiB(100)});
  ASSERT_TRUE(block.ok());
  for (int64_t skipped = 0; skipped < 5; ++skipped) {  // two looks with a wait each, and the poison
    watched_->FailAfter(skipped, ErrorKind::kRunFailed);
    EXPECT_FALSE(guarding_.Free(*block).ok());
    EXPECT_EQ(guarding_.statistics().live_blocks, 1) << skipped;
  }
  EXPECT_TRUE(guarding_.Free(*block).ok());
  EXPECT_EQ(guarding_.statistics().live_blocks, 0);
}

TEST_F(GuardingFaults, WithoutAWindowToTheBytesOnlyFreesAreChecked) {
  auto scalable = machine_.Scalable();
  watched_->FailAfter(0, ErrorKind::kDoesNotFit);
  GuardingAllocator blind(std::move(scalable), watched_, kDevice, machine_.stream());
  const auto block = blind.Allocate({.size = KiB(4)});
  ASSERT_TRUE(block.ok());
  *reinterpret_cast<char*>(block->address + 4096) = 1;
  EXPECT_TRUE(blind.Free(*block).ok());
  EXPECT_TRUE(RefusedAs(blind.Free(*block), "memory.freed_twice"));
}

}  // namespace adaptors_test
}  // namespace plimsoll::memory
