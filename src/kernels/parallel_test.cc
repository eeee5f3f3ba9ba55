#include "kernels/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/threads/onednn_regions.h"

namespace plimsoll::kernels::parallel_test {
namespace {

std::vector<std::pair<int64_t, int64_t>> PartsOf(int64_t count, int64_t grain) {
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> parts;
  ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    parts.emplace_back(begin, end);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

using Parts = std::vector<std::pair<int64_t, int64_t>>;

TEST(ParallelForTest, PartsDependOnTheScopeAndNotOnWhoIsFree) {
  const ThreadScope scope(4);
  const Parts four = {{0, 25}, {25, 50}, {50, 75}, {75, 100}};
  EXPECT_EQ(PartsOf(100, 20), four);
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 6; ++i) {
    others.emplace_back([&] {
      const ThreadScope busy(3);
      while (!stop) PartsOf(50, 1);
    });
  }
  for (int turn = 0; turn < 200; ++turn) EXPECT_EQ(PartsOf(100, 20), four);
  stop = true;
  for (std::thread& other : others) other.join();
}

TEST(ParallelForTest, SmallWorkStaysWithTheCaller) {
  const ThreadScope scope(4);
  EXPECT_EQ(PartsOf(100, 60), (Parts{{0, 100}}));
  EXPECT_EQ(PartsOf(100, 50), (Parts{{0, 50}, {50, 100}}));
  EXPECT_TRUE(PartsOf(0, 1).empty());
}

TEST(ParallelForTest, EachThreadHasSeveralPartsWhereThereIsWorkForThem) {
  const ThreadScope scope(4);
  EXPECT_EQ(PartsOf(100, 1).size(), 4u * kPartsOfThread);
  EXPECT_EQ(PartsOf(100, 12).size(), 8u);
  EXPECT_EQ(PartsOf(7, 1).size(), 4u) << "no thread has more parts than another";
  const ThreadScope one(1);
  EXPECT_EQ(PartsOf(100, 1), (Parts{{0, 100}}));
}

TEST(ParallelPiecesTest, EachPieceIsWorkedOnOnceByNoMoreThreadsThanAreAskedFor) {
  const ThreadScope scope(4);
  for (const int64_t pieces : {0, 1, 3, 50, 70'000}) {
    for (const int64_t threads : {1, 2, 9}) {
      std::vector<std::atomic<int>> turns(static_cast<size_t>(pieces));
      std::atomic<bool> is_within = true;
      ParallelPieces(pieces, threads, [&](int64_t piece, int64_t thread) {
        ++turns[static_cast<size_t>(piece)];
        if (thread < 0 || thread >= std::min<int64_t>(threads, 4)) is_within = false;
      });
      EXPECT_TRUE(std::ranges::all_of(turns, [](const auto& count) { return count == 1; }));
      EXPECT_TRUE(is_within) << pieces << " pieces, " << threads << " threads";
    }
  }
}

TEST(ParallelForTest, WithinAPartWorkIsNotCutAgain) {
  const ThreadScope scope(3);
  std::atomic<int> inner{0};
  ParallelFor(3, 1, [&](int64_t, int64_t) {
    EXPECT_EQ(Threads(), 3);
    inner += static_cast<int>(PartsOf(100, 1).size());
  });
  EXPECT_EQ(inner, 3);
}

TEST(ThreadScopeTest, TheInnermostCounts) {
  EXPECT_GE(Threads(), 1);
  const ThreadScope outer(5);
  EXPECT_EQ(Threads(), 5);
  {
    const ThreadScope inner(0);
    EXPECT_EQ(Threads(), 1);
  }
  EXPECT_EQ(Threads(), 5);
}

TEST(OneDnnRegionsTest, TheLibrarysImportsLeadToOurThreads) {
  EXPECT_TRUE(OneDnnRegions::redirected());
}

}  // namespace
}  // namespace plimsoll::kernels::parallel_test
