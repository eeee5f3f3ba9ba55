#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "plan/plan_oracle_for_tests.h"
#include "plan/random_problem_for_tests.h"
#include "plimsoll/plan/assigner.h"
#include "plimsoll/plan/hybrid_mem_assigner.h"
#include "plimsoll/plan/verifier.h"

namespace plimsoll::plan {
namespace {

// PLIMSOLL_PROPERTY_CASES says how many problems are drawn; a million is a run by hand.
int64_t CaseCount() {
  const char* text = std::getenv("PLIMSOLL_PROPERTY_CASES");
  return text == nullptr ? 100'000 : std::strtoll(text, nullptr, 10);
}

std::vector<std::unique_ptr<MemAssigner>> EveryAssigner() {
  std::vector<std::unique_ptr<MemAssigner>> assigners;
  for (const std::string& name : AssignerNames()) {
    assigners.push_back(std::move(*MakeAssigner(name, 1)));
  }
  return assigners;
}

constexpr Effort kSmallEffort{.steps = 100};

TEST(PropertyTest, EveryPlanOfEveryAssignerIsVerifiedAndHybridIsNeverWorse) {
  const auto assigners = EveryAssigner();
  int64_t planned = 0;
  std::map<std::string, int64_t> refused;
  for (int64_t seed = 0; seed < CaseCount(); ++seed) {
    const Problem problem = RandomProblem(static_cast<uint64_t>(seed)).Make();
    const auto best = assigners.front()->Assign(problem, kSmallEffort);
    if (!best.ok()) {
      ++refused[best.error().code];
      continue;
    }
    ++planned;
    ASSERT_TRUE(PlanOracle(problem, *best).Holds()) << "seed " << seed;
    for (const auto& assigner : assigners) {
      const auto plan = assigner->Assign(problem, kSmallEffort);
      ASSERT_TRUE(plan.ok()) << "seed " << seed << ' ' << assigner->name();
      const Status verified = Verify(problem, *plan);
      ASSERT_TRUE(verified.ok()) << "seed " << seed << ' ' << assigner->name() << ": "
                                 << verified.error().Text();
      for (size_t i = 0; i < problem.regions.size(); ++i) {
        ASSERT_GE(plan->regions[i].size, best->regions[i].lower_bound) << "seed " << seed;
        ASSERT_LE(best->regions[i].size, plan->regions[i].size)
            << "seed " << seed << ' ' << assigner->name();
      }
    }
  }
  // Most problems make sense; of the others each is refused for one of these reasons.
  EXPECT_GE(planned * 10, CaseCount() * 8);
  for (const auto& [code, count] : refused) EXPECT_EQ(code, "plan.contradiction") << count;
}

TEST(PropertyTest, R39_TheSameAnswerTwiceAndWithAnyNumberOfThreads) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = RandomProblem(seed + 1'000'000'000).Make();
    const auto first = HybridMemAssigner(1).Assign(problem, kSmallEffort);
    for (const int threads : {1, 2, 3}) {
      const auto again = HybridMemAssigner(threads).Assign(problem, kSmallEffort);
      ASSERT_EQ(first.ok(), again.ok());
      if (!first.ok()) continue;
      ASSERT_EQ(first->offsets, again->offsets) << "seed " << seed << ' ' << threads << " threads";
      ASSERT_EQ(first->steps, again->steps);
    }
  }
}

}  // namespace
}  // namespace plimsoll::plan
