#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/random/column_sums_for_tests.h"
#include "engine/random/configured_runs_for_tests.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/memory/caching_mem_allocator.h"

// Runs of one model by several threads.
namespace plimsoll::engine {
namespace seed_rules_runs_test {

constexpr int64_t kColumns = 64;

// Counts the blocks that runs hold at once, and takes its time.
class CountingAllocator final : public memory::Allocator {
 public:
  explicit CountingAllocator(std::shared_ptr<Allocator> under) : under_(std::move(under)) {}
  int most() const { return most_; }

  Result<memory::Block> Allocate(const memory::Request& request) override {
    const int held = ++held_;
    for (int seen = most_; seen < held && !most_.compare_exchange_weak(seen, held);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return under_->Allocate(request);
  }
  Status Free(const memory::Block& block) override {
    --held_;
    return under_->Free(block);
  }
  Status RecordStream(const memory::Block& block, memory::StreamId stream) override {
    return under_->RecordStream(block, stream);
  }
  Result<Bytes> Trim() override { return under_->Trim(); }
  memory::MemoryStatistics statistics() const override { return under_->statistics(); }

 private:
  std::shared_ptr<Allocator> under_;
  std::atomic<int> held_ = 0;
  std::atomic<int> most_ = 0;
};

TEST(SeedRulesRunsTest, R70_RunsOfOneModelFromManyThreadsGoOneAfterTheOther) {
  SessionOptions options;
  options.config.graph_max_parallel_model_num = 4;
  const auto allocator =
      std::make_shared<CountingAllocator>(std::make_shared<memory::CachingMemAllocator>(
          std::make_shared<memory::PhysicalMemoryAllocator>(std::make_shared<device::CpuDevice>(),
                                                            device::DeviceId{0})));
  options.allocator = allocator;
  const auto session = MakeSession(options);
  const GraphId id = MustAdd(*session, ColumnSums(graph::Dim::Symbol("rows"), kColumns));
  std::vector<std::vector<std::byte>> expected;
  for (int64_t rows = 1; rows <= 4; ++rows) {
    expected.push_back(BytesOf(MustRun(*session, id, {Random({rows, kColumns}, 1)})[0]));
  }
  std::vector<std::thread> threads;
  for (int64_t rows = 1; rows <= 4; ++rows) {
    threads.emplace_back([&, rows] {
      for (int run = 0; run < 10; ++run) {
        const auto outputs = MustRun(*session, id, {Random({rows, kColumns}, 1)});
        EXPECT_EQ(BytesOf(outputs[0]), expected[static_cast<size_t>(rows - 1)]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator->most(), 1);
}

}  // namespace seed_rules_runs_test
}  // namespace plimsoll::engine
