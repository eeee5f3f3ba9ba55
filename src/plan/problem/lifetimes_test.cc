#include "plan/problem/lifetimes.h"

#include <gtest/gtest.h>

#include "plan/problem/step_order_for_tests.h"
#include "plimsoll/plan/hybrid_mem_assigner.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::plan {
namespace lifetimes_test {

// Buffers with up to three uses on random streams, some without any.
Problem RandomUses(RandomProblem& dice) {
  Problem problem = RandomStreams(dice);
  const auto use = [&] {
    const auto s =
        static_cast<size_t>(dice.Between(0, static_cast<int64_t>(problem.streams.size()) - 1));
    const int64_t begin = dice.Between(0, problem.streams[s].steps - 1);
    const int64_t end = dice.Chance(10) ? begin : dice.Between(begin + 1, problem.streams[s].steps);
    return Use{StreamId(s), begin, end};
  };
  for (int i = 0; i < 6; ++i) {
    Buffer buffer{.size = Bytes(8), .life = use()};
    for (int more = 0; more < 2 && dice.Chance(30); ++more) buffer.elsewhere.push_back(use());
    problem.AddBuffer(std::move(buffer));
  }
  return problem;
}

TEST(LifetimesTest, OnStreamsTwoBuffersLiveTogetherExactlyWhenNeitherIsOverBeforeTheOther) {
  int together = 0;
  int disjoint = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomProblem dice(seed + 31);
    const Problem problem = RandomUses(dice);
    const auto lives = Lifetimes::Make(problem);
    ASSERT_TRUE(lives.ok()) << seed;
    EXPECT_FALSE(lives->one_line());
    const StepOrder order(problem);
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const Buffer& a = problem.buffers[i];
      ASSERT_EQ(lives->Empty(BufferId(i)), StepOrder::Uses(a).empty()) << seed;
      for (size_t j = 0; j < problem.buffers.size(); ++j) {
        const Buffer& b = problem.buffers[j];
        const bool both = !StepOrder::Uses(a).empty() && !StepOrder::Uses(b).empty();
        const bool expected = both && !order.Before(a, b) && !order.Before(b, a);
        ASSERT_EQ(lives->Together(BufferId(i), BufferId(j)), expected)
            << "seed " << seed << " buffers " << i << " and " << j;
        ++(expected ? together : disjoint);
      }
    }
  }
  EXPECT_GT(together, 10'000);
  EXPECT_GT(disjoint, 10'000);
}

TEST(LifetimesTest, TheWindowOfABufferHoldsTheStepsThatAreNotInOrderWithAllItsUses) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomProblem dice(seed + 77'000);
    const Problem problem = RandomUses(dice);
    const auto lives = Lifetimes::Make(problem);
    ASSERT_TRUE(lives.ok()) << seed;
    const StepOrder order(problem);
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const std::vector<Use> uses = StepOrder::Uses(problem.buffers[i]);
      if (uses.empty()) continue;
      EXPECT_EQ(lives->Uses(BufferId(i)).size(), uses.size());
      for (size_t s = 0; s < problem.streams.size(); ++s) {
        const StreamSpan window = lives->Window(BufferId(i), static_cast<uint32_t>(s));
        for (int64_t step = 0; step < problem.streams[s].steps; ++step) {
          const auto over = [&](const Use& use) {
            return order.Before(s, step, use.stream.index(), use.begin);
          };
          const auto yet_to_come = [&](const Use& use) {
            return order.Before(use.stream.index(), use.end - 1, s, step);
          };
          const bool in_order = std::all_of(uses.begin(), uses.end(), over) ||
                                std::all_of(uses.begin(), uses.end(), yet_to_come);
          ASSERT_EQ(step < window.begin || step >= window.end, in_order)
              << "seed " << seed << " buffer " << i << " stream " << s << " step " << step;
        }
      }
    }
  }
}

TEST(LifetimesTest, TheHullFollowsTheOrderOfTheStreams) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomProblem dice(seed + 5);
    const Problem problem = RandomUses(dice);
    const auto lives = Lifetimes::Make(problem);
    ASSERT_TRUE(lives.ok()) << seed;
    const StepOrder order(problem);
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      if (lives->Empty(BufferId(i))) continue;
      ASSERT_LT(lives->Begin(BufferId(i)), lives->End(BufferId(i)));
      for (size_t j = 0; j < problem.buffers.size(); ++j) {
        if (i == j || lives->Empty(BufferId(j))) continue;
        if (!order.Before(problem.buffers[i], problem.buffers[j])) continue;
        ASSERT_LE(lives->End(BufferId(i)), lives->Begin(BufferId(j))) << seed;
      }
    }
  }
}

TEST(LifetimesTest, OnOneLineLivesMeetOnlyWhereTheyShareAMoment) {
  Problem problem;
  problem.AddRegion({.name = "map", .alignment = 1});
  const auto add = [&](int64_t begin, int64_t end) {
    return problem.AddBuffer({.size = Bytes(8), .life = {.begin = begin, .end = end}});
  };
  const BufferId first = add(0, 3);
  const BufferId next = add(3, 5);
  const BufferId across = add(2, 4);
  const BufferId never = add(2, 2);
  const auto lives = Lifetimes::Make(problem);
  ASSERT_TRUE(lives.ok());
  EXPECT_TRUE(lives->one_line());
  EXPECT_FALSE(lives->Together(first, next));
  EXPECT_FALSE(lives->Together(next, first));
  EXPECT_TRUE(lives->Together(first, across));
  EXPECT_TRUE(lives->Together(across, next));
  EXPECT_TRUE(lives->Empty(never));
  EXPECT_FALSE(lives->Together(never, across));
}

TEST(LifetimesTest, MomentsMayBeNegativeOrHugeAndKeepTheirOrder) {
  constexpr int64_t kFar = int64_t{1} << 50;
  Problem problem;
  problem.AddRegion({.name = "map", .alignment = 1});
  for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{
           {-kFar, -5}, {-5, kFar}, {kFar - 1, kFar + 7}, {kFar + 7, kFar + 8}}) {
    problem.AddBuffer({.size = Bytes(16), .life = {.begin = begin, .end = end}});
  }
  const auto lives = Lifetimes::Make(problem);
  ASSERT_TRUE(lives.ok());
  EXPECT_EQ(lives->End(BufferId(0)), lives->Begin(BufferId(1)));
  EXPECT_LT(lives->Begin(BufferId(2)), lives->End(BufferId(1)));
  EXPECT_EQ(lives->End(BufferId(2)), lives->Begin(BufferId(3)));
  const auto plan = HybridMemAssigner(1).Assign(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(Verify(problem, *plan).ok());
  EXPECT_EQ(plan->total(), Bytes(32)) << "only the middle two meet";
}

// A value made on one stream, sent by a second and consumed by a third: its bytes are free on the
// first stream only once that has waited for the third.
TEST(LifetimesTest, BytesComeBackOverThreeStreams) {
  Problem problem;
  problem.AddRegion({.name = "map", .alignment = 1});
  const StreamId compute = problem.AddStream({.name = "compute", .steps = 4});
  const StreamId copy = problem.AddStream({.name = "copy", .steps = 4});
  const StreamId reader = problem.AddStream({.name = "reader", .steps = 4});
  problem.AddBuffer({.size = Bytes(64),
                     .life = {.stream = compute, .begin = 0, .end = 1},
                     .elsewhere = {{copy, 1, 2}, {reader, 2, 3}}});
  problem.AddBuffer({.size = Bytes(64), .life = {.stream = compute, .begin = 3, .end = 4}});
  const auto total = [&] {
    const auto plan = HybridMemAssigner(1).Assign(problem);
    EXPECT_TRUE(plan.ok() && Verify(problem, *plan).ok());
    return plan.ok() ? plan->total() : Bytes(-1);
  };
  problem.synchronisations = {{compute, 0, copy, 1}, {copy, 1, reader, 2}};
  EXPECT_EQ(total(), Bytes(128)) << "the reader may still read";
  problem.synchronisations.push_back({reader, 2, copy, 3});
  EXPECT_EQ(total(), Bytes(128)) << "only the copy stream knows";
  problem.synchronisations.push_back({copy, 3, compute, 3});
  EXPECT_EQ(total(), Bytes(64)) << "the copy stream carries the reader's end";
}

}  // namespace lifetimes_test
}  // namespace plimsoll::plan
