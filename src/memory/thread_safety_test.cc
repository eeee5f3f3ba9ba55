#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>

#include "memory/conformance_fixture.h"
#include "plimsoll/memory/active_memory_allocator.h"
#include "plimsoll/memory/expandable_active_memory_allocator.h"
#include "plimsoll/memory/physical_memory_allocator.h"

// Eight threads in the shared layers themselves, with no lock above them. Every byte is counted at
// the end: by the allocator, by its observer and by the device.
namespace plimsoll::memory {
namespace thread_safety_test {

constexpr int kThreads = 8;
constexpr int kRounds = 2000;

// Runs body(thread) in eight threads that begin together.
template <typename Body>
void InEightThreads(const Body& body) {
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      body(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Adds up without a lock of its own: the physical layer calls it under its mutex.
struct Ledger : MemoryObserver {
  void OnMemoryEvent(const MemoryEvent& event) override {
    EXPECT_EQ(++inside, 1) << "two threads are in it at once";
    std::this_thread::yield();
    if (event.kind == MemoryEvent::Kind::kReserve) reserved += event.bytes;
    if (event.kind == MemoryEvent::Kind::kRelease) reserved -= event.bytes;
    if (event.kind == MemoryEvent::Kind::kMap) mapped += event.bytes;
    if (event.kind == MemoryEvent::Kind::kUnmap) mapped -= event.bytes;
    --inside;
  }
  std::atomic<int> inside = 0;
  Bytes reserved;
  Bytes mapped;
};

struct Shared {
  Shared() : machine(std::make_shared<device::FakeDevice>(), Told(&ledger)) {}
  static PhysicalMemoryOptions Told(MemoryObserver* observer) {
    PhysicalMemoryOptions options;
    options.observer = observer;
    return options;
  }
  PhysicalMemoryAllocator& physical() const { return *machine.physical(); }
  Ledger ledger;
  Machine machine;
};

Bytes SizeOf(int thread) { return MiB(2) * (1 + thread % 4); }

// That no two chunks share a byte.
void ExpectDisjoint(std::vector<ActiveChunk> chunks) {
  std::sort(chunks.begin(), chunks.end(),
            [](const ActiveChunk& a, const ActiveChunk& b) { return a.home < b.home; });
  for (size_t i = 1; i < chunks.size(); ++i) {
    ASSERT_GE(chunks[i].home,
              chunks[i - 1].home + static_cast<uint64_t>(chunks[i - 1].size.value()));
  }
}

TEST(ThreadSafetyTest, R71_R72_PhysicalMemoryAllocatorCountsEveryByteOfEightThreads) {
  const Shared shared;
  PhysicalMemoryAllocator& physical = shared.physical();
  InEightThreads([&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      const auto chunk = physical.Acquire(SizeOf(t));
      const auto plain = physical.AcquirePlain(MiB(2));
      ASSERT_TRUE(chunk.ok() && plain.ok());
      physical.AddReference(*chunk);
      physical.Release(*chunk);
      if (i % 50 == t) {
        ASSERT_TRUE(physical.Trim().ok());
      }
      if (i % 100 == 99) continue;  // kept
      ASSERT_TRUE(physical.ReleasePlain(*plain).ok());
      physical.Release(*chunk);
    }
  });
  Bytes held;
  for (int t = 0; t < kThreads; ++t) held += (SizeOf(t) + MiB(2)) * (kRounds / 100);
  ASSERT_TRUE(physical.Trim().ok());
  EXPECT_EQ(physical.reserved(), held);
  EXPECT_EQ(physical.cached(), Bytes(0));
  EXPECT_EQ(shared.ledger.reserved, held);
  EXPECT_EQ(shared.machine.fake().statistics().physical, held);
  EXPECT_EQ(shared.machine.fake().outstanding().chunks, kThreads * kRounds / 100);
  EXPECT_EQ(shared.machine.fake().outstanding().plain_blocks, kThreads * kRounds / 100);
}

TEST(ThreadSafetyTest, R72_ActiveMemoryAllocatorHandsOutEachByteOnceToEightThreads) {
  const Shared shared;
  std::vector<ActiveChunk> kept[kThreads];
  {
    ActiveMemoryAllocator active(shared.machine.physical());
    InEightThreads([&](int t) {
      for (int i = 0; i < kRounds; ++i) {
        const auto grown = active.Grow({.size = SizeOf(t)});
        ASSERT_TRUE(grown.ok());
        if (i % 100 == 99) {
          kept[t].push_back(grown->front());
        } else {
          ASSERT_TRUE(active.Shrink(grown->front()).ok());
        }
      }
    });
    std::vector<ActiveChunk> all;
    Bytes held;
    for (const auto& own : kept) all.insert(all.end(), own.begin(), own.end());
    for (const ActiveChunk& chunk : all) held += chunk.size;
    ASSERT_EQ(all.size(), static_cast<size_t>(kThreads * kRounds / 100));
    ExpectDisjoint(all);
    EXPECT_EQ(shared.physical().reserved(), held);
    EXPECT_EQ(shared.ledger.reserved, held);
  }
  EXPECT_EQ(shared.physical().reserved(), Bytes(0)) << "it knew every block that was left";
  EXPECT_EQ(shared.machine.fake().outstanding().plain_blocks, 0);
}

TEST(ThreadSafetyTest, R72_ExpandableActiveMemoryAllocatorMapsEachByteOnceForEightThreads) {
  const Shared shared;
  std::vector<ActiveChunk> kept[kThreads];
  auto expandable = *ExpandableActiveMemoryAllocator::Create(shared.machine.physical());
  InEightThreads([&](int t) {
    for (int i = 0; i < kRounds / 4; ++i) {
      const auto first = expandable->Grow({.size = SizeOf(t), .single_chunk = true});
      const auto second = expandable->Grow({.size = MiB(2), .single_chunk = true});
      ASSERT_TRUE(first.ok() && second.ok());
      const std::vector<ActiveChunk> both = {second->front(), first->front()};
      const auto stitched = expandable->Stitch(both);
      ASSERT_TRUE(stitched.ok());
      ASSERT_TRUE(expandable->Unstitch(*stitched).ok());
      ASSERT_TRUE(expandable->Shrink(second->front()).ok());
      if (i % 100 == 99) {
        kept[t].push_back(first->front());
      } else {
        ASSERT_TRUE(expandable->Shrink(first->front()).ok());
      }
    }
  });
  std::vector<ActiveChunk> all;
  Bytes held;
  for (const auto& own : kept) all.insert(all.end(), own.begin(), own.end());
  for (const ActiveChunk& chunk : all) held += chunk.size;
  ASSERT_EQ(all.size(), static_cast<size_t>(kThreads * kRounds / 400));
  ExpectDisjoint(all);
  EXPECT_EQ(expandable->mapped(), held);
  EXPECT_EQ(shared.ledger.mapped, held);
  EXPECT_EQ(shared.machine.fake().outstanding().mappings, static_cast<int64_t>(all.size()));
  ASSERT_TRUE(shared.physical().Trim().ok());
  EXPECT_EQ(shared.physical().reserved(), held);
  expandable.reset();
  EXPECT_EQ(shared.machine.fake().outstanding().mappings, 0);
  EXPECT_EQ(shared.physical().cached(), held);
}

}  // namespace thread_safety_test
}  // namespace plimsoll::memory
