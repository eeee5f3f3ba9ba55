#include "plan/packing/packing_search.h"

#include <gtest/gtest.h>

#include <numeric>

#include "plan/packing/packing_oracle_for_tests.h"

namespace plimsoll::plan {
namespace packing_search_test {

using Outcome = PackingSearch::Outcome;
using Pick = PackingSearch::Pick;

constexpr Pick kPicks[] = {Pick::kSequence, Pick::kTightest, Pick::kFewest, Pick::kTroubled};

class Question {
 public:
  explicit Question(const Packing& packing)
      : sectioned_(*MakeSections(packing, false, 1 << 20)), search_(sectioned_, {}) {
    sequence_.resize(sectioned_.items.size());
    std::iota(sequence_.begin(), sequence_.end(), 0);
  }

  Outcome Ask(Pick pick, int64_t capacity) {
    PackingRefutations refutations;
    return search_.Run(sequence_, pick, {.capacity = capacity, .steps = 100000, .deadline = {}},
                       refutations);
  }
  int64_t steps() const { return search_.steps(); }

 private:
  SectionedPacking sectioned_;
  PackingSearch search_;
  std::vector<int32_t> sequence_;
};

TEST(PackingSearchTest, WhicheverItemIsTriedFirstTheDecisionIsThatOfBruteForce) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomShape shape{.items = 7, .moments = 6, .alignments = true, .fixed = seed % 2 == 0};
    const Packing packing = RandomPacking(shape, seed);
    const int64_t least = LeastHeight(packing);
    Question question(packing);
    for (const Pick pick : kPicks) {
      EXPECT_EQ(question.Ask(pick, least), Outcome::kFound) << seed;
      EXPECT_EQ(question.Ask(pick, least - 1), Outcome::kRefuted) << seed;
    }
  }
}

// A run leaves nothing behind but what kTroubled has learned.
TEST(PackingSearchTest, ARunRepeatedTakesTheSameSteps) {
  const Packing packing = RefilledPacking(24, 14, 3);
  Question question(packing);
  for (const Pick pick : {Pick::kSequence, Pick::kTightest, Pick::kFewest}) {
    question.Ask(pick, 24);
    const int64_t steps = question.steps();
    question.Ask(Pick::kTroubled, 24);
    question.Ask(pick, 24);
    EXPECT_EQ(question.steps(), steps);
  }
}

TEST(PackingSearchTest, SectionsThatFailedAreTriedSoonerInLaterRuns) {
  int64_t first = 0;
  int64_t second = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Packing packing = RefilledPacking(24, 14, seed);
    Question question(packing);
    question.Ask(Pick::kTroubled, 24);
    first += question.steps();
    question.Ask(Pick::kTroubled, 24);
    second += question.steps();
  }
  EXPECT_LT(second, first);
}

}  // namespace packing_search_test
}  // namespace plimsoll::plan
