#include "engine/run/team_size.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace plimsoll::engine {
namespace team_size_test {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// So many runs, each of which takes what `time` says of its threads. How many runs took how many.
std::map<int, int> RunTimes(TeamSize& size, int runs,
                            const std::function<nanoseconds(int threads)>& time) {
  std::map<int, int> seen;
  for (int i = 0; i < runs; ++i) {
    ++seen[size.threads()];
    size.Ran(time(size.threads()));
  }
  return seen;
}

nanoseconds Shared(int threads) { return microseconds(800) / threads; }  // evenly, at no price
nanoseconds Alone(int threads) { return microseconds(100 * threads); }   // each one costs

TEST(TeamSizeTest, ThreadsThatHelpAreKeptAndSeldomDoubted) {
  for (const int most : {2, 3, 4, 16}) {
    TeamSize size(most);
    const std::map<int, int> seen = RunTimes(size, 10'000, Shared);
    EXPECT_EQ(size.threads(), most);
    EXPECT_GT(seen.at(most), 9'850) << most;
  }
}

TEST(TeamSizeTest, ThreadsThatCostMoreThanTheyBringAreLeftOut) {
  for (const int most : {2, 3, 4, 16}) {
    TeamSize size(most);
    RunTimes(size, 100, Alone);
    EXPECT_EQ(size.threads(), 1) << most;
    EXPECT_GT(RunTimes(size, 10'000, Alone).at(1), 9'850) << most;
  }
}

TEST(TeamSizeTest, TheNumberBetweenIsFound) {
  const auto best_of_four = [](int threads) {
    return microseconds(threads == 4 ? 100 : threads < 4 ? 100 + 80 * (4 - threads) : 50 * threads);
  };
  TeamSize size(16);
  const std::map<int, int> seen = RunTimes(size, 10'000, best_of_four);
  EXPECT_GT(seen.at(4), 9'700);
}

TEST(TeamSizeTest, WhenTheMachineChangesSoDoesTheNumber) {
  TeamSize size(2);
  RunTimes(size, 500, Shared);
  EXPECT_EQ(size.threads(), 2);
  RunTimes(size, 100, [](int threads) { return microseconds(threads == 2 ? 1500 : 800); });
  EXPECT_EQ(size.threads(), 1);
  // One thread alone takes the same now as before.
  RunTimes(size, 1200, Shared);
  EXPECT_EQ(size.threads(), 2);
}

// A neighbour took processors while all threads were watched.
TEST(TeamSizeTest, AWrongChoiceIsTakenBackSoon) {
  TeamSize size(4);
  RunTimes(size, 10, [](int) { return microseconds(3000); });
  RunTimes(size, 300, Shared);
  EXPECT_EQ(RunTimes(size, 100, Shared).at(4), 100);
}

TEST(TeamSizeTest, LongRunsTakeAllThreads) {
  TeamSize size(4);
  EXPECT_EQ(RunTimes(size, 5000, [](int threads) { return microseconds(5000 + threads); }).at(4),
            5000);
  RunTimes(size, 200, Alone);
  EXPECT_EQ(size.threads(), 1);
  size.Ran(microseconds(4001));
  EXPECT_EQ(size.threads(), 4);
}

TEST(TeamSizeTest, OneThreadStaysOne) {
  TeamSize size(1);
  EXPECT_EQ(RunTimes(size, 3000, Alone).at(1), 3000);
}

}  // namespace team_size_test
}  // namespace plimsoll::engine
