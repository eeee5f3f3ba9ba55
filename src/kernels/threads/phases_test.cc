#include "kernels/threads/phases.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/parallel.h"

namespace plimsoll::kernels::phases_test {
namespace {

// Counts what is done, and whether anything began too early.
class Record {
 public:
  explicit Record(const Phases& phases)
      : phases_(phases), done_(static_cast<size_t>(phases.lanes * phases.count)) {}

  void Share(int lane, int64_t phase) {
    if (phase > 0 && At(lane, phase - 1).load() != phases_.shares) early_ = true;
    At(lane, phase).fetch_add(1);
  }
  bool IsWhole() {
    for (std::atomic<int>& count : done_) {
      if (count != phases_.shares) return false;
    }
    return !early_;
  }

 private:
  std::atomic<int>& At(int lane, int64_t phase) {
    return done_[static_cast<size_t>(lane * phases_.count + phase)];
  }

  const Phases phases_;
  std::vector<std::atomic<int>> done_;
  std::atomic<bool> early_{false};
};

bool RunsWhole(const Phases& phases) {
  Record record(phases);
  RunPhases(phases, [&](int lane, int64_t phase, int) { record.Share(lane, phase); });
  return record.IsWhole();
}

TEST(PhasesTest, EveryShareIsDoneOnceAfterThePhaseBefore) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadScope scope(threads);
    for (const int lanes : {1, 2, 3}) {
      for (const int shares : {1, 2, 5}) {
        for (const int64_t count : {0, 1, 300}) {
          EXPECT_TRUE(RunsWhole({.lanes = lanes, .shares = shares, .count = count}))
              << threads << " threads, " << lanes << " lanes of " << shares << " shares";
        }
      }
    }
  }
}

// Each has its own part of the processors, often none but its calling thread's.
TEST(PhasesTest, ManyCallersAtOnceAllComeToTheEnd) {
  std::atomic<int> whole{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&] {
      const ThreadScope scope(4);
      for (int turn = 0; turn < 20; ++turn) {
        whole += RunsWhole({.lanes = 2, .shares = 3, .count = 20}) ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(whole, 120);
}

TEST(PhasesTest, ThreadsThatWaitLongSleepAndAreWoken) {
  const ThreadScope scope(4);
  const Phases phases{.shares = 4, .count = 6};
  Record record(phases);
  RunPhases(phases, [&](int lane, int64_t phase, int share) {
    if (share == phase % 4) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    record.Share(lane, phase);
  });
  EXPECT_TRUE(record.IsWhole());
}

TEST(PhasesTest, WithinARegionTheCallingThreadDoesAll) {
  const ThreadScope scope(3);
  std::atomic<int> alone{0};
  ParallelFor(3, 1, [&](int64_t, int64_t) {
    const std::thread::id self = std::this_thread::get_id();
    bool same = true;
    RunPhases({.lanes = 2, .shares = 2, .count = 3},
              [&](int, int64_t, int) { same = same && std::this_thread::get_id() == self; });
    alone += same ? 1 : 0;
  });
  EXPECT_EQ(alone, 3);
}

}  // namespace
}  // namespace plimsoll::kernels::phases_test
