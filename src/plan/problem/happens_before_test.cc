#include "plan/problem/happens_before.h"

#include <gtest/gtest.h>

#include "plan/problem/step_order_for_tests.h"

namespace plimsoll::plan {
namespace happens_before_test {

Problem Streams(int count, int64_t steps) {
  Problem problem;
  for (int i = 0; i < count; ++i) problem.AddStream({.steps = steps});
  return problem;
}

constexpr StreamId kA(0);
constexpr StreamId kB(1);
constexpr StreamId kC(2);

using Clock = std::vector<int64_t>;

TEST(HappensBeforeTest, AStreamKnowsItsOwnStepsAndWhatItWaitedFor) {
  Problem problem = Streams(2, 4);
  problem.synchronisations = {{kA, 1, kB, 2}};
  const auto order = HappensBefore::Make(problem);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->Clock(kB, 1), (Clock{-1, 0})) << "the wait has not been made";
  EXPECT_EQ(order->Clock(kB, 2), (Clock{1, 1}));
  EXPECT_EQ(order->Clock(kB, 3), (Clock{1, 2})) << "what was waited for stays over";
  EXPECT_EQ(order->Clock(kA, 3), (Clock{2, -1})) << "nobody waits in the other direction";
}

TEST(HappensBeforeTest, WaitsCarryOverAThirdStream) {
  Problem problem = Streams(3, 4);
  problem.synchronisations = {{kB, 1, kC, 2}, {kA, 3, kB, 1}};
  const auto order = HappensBefore::Make(problem);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->Clock(kC, 1), (Clock{-1, -1, 0}));
  EXPECT_EQ(order->Clock(kC, 2), (Clock{3, 1, 1})) << "what stream B had waited for is over too";
  EXPECT_EQ(order->Clock(kC, 3), (Clock{3, 1, 2}));
}

TEST(HappensBeforeTest, AWaitKeepsWhatEarlierWaitsKnew) {
  Problem problem = Streams(3, 4);
  problem.synchronisations = {{kA, 2, kC, 1}, {kB, 0, kC, 2}, {kA, 0, kC, 3}};
  const auto order = HappensBefore::Make(problem);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->Clock(kC, 2), (Clock{2, 0, 1}));
  EXPECT_EQ(order->Clock(kC, 3), (Clock{2, 0, 2})) << "a wait for an earlier step adds nothing";
}

TEST(HappensBeforeTest, SeveralWaitsAtOneStepCountTogether) {
  Problem problem = Streams(3, 2);
  problem.synchronisations = {{kA, 1, kC, 1}, {kB, 0, kC, 1}};
  const auto order = HappensBefore::Make(problem);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->Clock(kC, 1), (Clock{1, 0, 0}));
}

TEST(HappensBeforeTest, EveryClockNamesTheLatestStepOfEachStreamThatIsOver) {
  int waiting = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomProblem dice(seed);
    const Problem problem = RandomStreams(dice);
    const auto order = HappensBefore::Make(problem);
    ASSERT_TRUE(order.ok()) << seed << order.error().Text();
    const StepOrder expected(problem);
    for (size_t s = 0; s < problem.streams.size(); ++s) {
      for (int64_t step = 0; step < problem.streams[s].steps; ++step) {
        const Clock clock = order->Clock(StreamId(s), step);
        ASSERT_EQ(clock.size(), problem.streams.size());
        for (size_t other = 0; other < problem.streams.size(); ++other) {
          int64_t latest = -1;
          for (int64_t o = 0; o < problem.streams[other].steps; ++o) {
            if (expected.Before(other, o, s, step)) latest = o;
          }
          ASSERT_EQ(clock[other], latest)
              << "seed " << seed << " stream " << s << " step " << step << " of stream " << other;
          waiting += other != s && latest >= 0;
        }
      }
    }
  }
  EXPECT_GT(waiting, 8'000) << "the problems have waits to speak of";
}

TEST(HappensBeforeTest, CirclesOfAnyLengthAreRefusedAndCounted) {
  const auto refusal = [](const std::vector<Synchronisation>& waits) {
    Problem problem = Streams(3, 4);
    problem.synchronisations = waits;
    const auto order = HappensBefore::Make(problem);
    return order.ok() ? "" : order.error().code + " " + order.error().where;
  };
  EXPECT_EQ(refusal({{kA, 1, kB, 1}, {kB, 1, kC, 1}, {kC, 1, kA, 2}}), "");
  EXPECT_EQ(refusal({{kA, 1, kB, 1}, {kB, 1, kC, 1}, {kC, 1, kA, 1}}),
            "plan.cycle 3 synchronisations");
  EXPECT_EQ(refusal({{kA, 0, kC, 0}, {kA, 1, kB, 1}, {kB, 1, kA, 1}}),
            "plan.cycle 2 synchronisations");
  EXPECT_EQ(refusal({{kA, 1, kA, 2}}), "") << "a stream waits for its own past";
  EXPECT_EQ(refusal({{kA, 2, kA, 2}}), "plan.cycle 1 synchronisations");
  EXPECT_EQ(refusal({{kA, 3, kA, 2}}), "plan.cycle 1 synchronisations");
}

TEST(HappensBeforeTest, AWaitMustNameStepsThatAreThere) {
  const auto refusal = [](const Synchronisation& wait) {
    Problem problem = Streams(2, 4);
    problem.synchronisations = {{kA, 0, kB, 1}, wait};
    const auto order = HappensBefore::Make(problem);
    return order.ok() ? "" : order.error().code + " " + order.error().where;
  };
  EXPECT_EQ(refusal({kA, 3, kB, 3}), "");
  EXPECT_EQ(refusal({kA, 4, kB, 3}), "plan.bad_id synchronisation 1");
  EXPECT_EQ(refusal({kA, 3, kB, 4}), "plan.bad_id synchronisation 1");
  EXPECT_EQ(refusal({kA, -1, kB, 3}), "plan.bad_id synchronisation 1");
  EXPECT_EQ(refusal({kA, 3, kB, -1}), "plan.bad_id synchronisation 1");
  EXPECT_EQ(refusal({kC, 0, kB, 3}), "plan.bad_id synchronisation 1");
  EXPECT_EQ(refusal({kA, 3, kC, 0}), "plan.bad_id synchronisation 1");
  EXPECT_EQ(refusal({StreamId(), 0, kB, 3}), "plan.bad_id synchronisation 1");
}

TEST(HappensBeforeTest, WithoutStreamsThereIsNothingToWaitFor) {
  Problem problem;
  problem.synchronisations = {{kA, 0, kA, 1}};
  EXPECT_FALSE(HappensBefore::Make(problem).ok());
  problem.synchronisations.clear();
  const auto order = HappensBefore::Make(problem);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->Clock(kA, 5), Clock{4});
}

}  // namespace happens_before_test
}  // namespace plimsoll::plan
