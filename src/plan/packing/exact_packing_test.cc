#include "plan/packing/exact_packing.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "plan/packing/greedy_packing.h"
#include "plan/packing/packing_oracle_for_tests.h"
#include "plan/packing/packing_strategies.h"

namespace plimsoll::plan {
namespace exact_packing_test {

constexpr PackingEffort kEnough{.steps = 1000000};

PackingItem Item(int64_t size, int32_t begin, int32_t end, int64_t alignment = 1,
                 int64_t fixed = -1) {
  return {size, begin, end, alignment, fixed};
}

PackingEffort Into(int64_t capacity) { return {.steps = 1000000, .capacity = capacity}; }

// A packing whose least height is above its largest live sum.
Packing Wasteful() {
  for (uint64_t seed = 0;; ++seed) {
    Packing packing = RefilledPacking(8, 6, seed);
    if (LeastHeight(packing) > PackingLowerBound(packing)) return packing;
  }
}

TEST(ExactPackingTest, NothingIsOptimalAtOnce) {
  const PackingAnswer answer = PackExact({}, kEnough);
  EXPECT_EQ(answer.height, 0);
  EXPECT_TRUE(answer.optimal);
}

TEST(ExactPackingTest, AnItemHigherThanTheCapacityIsRefused) {
  const PackingAnswer answer = PackExact({{Item(9, 0, 1), Item(1, 4, 5)}}, Into(8));
  EXPECT_TRUE(answer.infeasible);
}

TEST(ExactPackingTest, EqualLivesStack) {
  const Packing packing{{Item(3, 0, 5), Item(3, 0, 5), Item(3, 0, 5), Item(0, 0, 5)}};
  const PackingAnswer answer = PackExact(packing, kEnough);
  EXPECT_EQ(answer.height, 9);
  EXPECT_TRUE(answer.optimal);
}

TEST(ExactPackingTest, ProvesThatTheLowerBoundIsOutOfReach) {
  const Packing packing = Wasteful();
  const int64_t least = LeastHeight(packing);
  const PackingAnswer answer = PackExact(packing, kEnough);
  EXPECT_EQ(answer.height, least);
  EXPECT_EQ(answer.lower_bound, least);
  EXPECT_TRUE(answer.optimal);
  EXPECT_TRUE(PackExact(packing, Into(least - 1)).infeasible);
}

TEST(ExactPackingTest, StopsAtTheFirstPlacementWithinTheCapacity) {
  const Packing packing = Wasteful();
  const PackingAnswer answer = PackExact(packing, Into(1000));
  EXPECT_LE(answer.height, 1000);
  EXPECT_EQ(answer.steps, 0);
  EXPECT_FALSE(answer.infeasible);
}

TEST(ExactPackingTest, WithoutEffortTheGreedyPlacementStands) {
  const Packing packing = Wasteful();
  const PackingAnswer answer = PackExact(packing, {.steps = 0});
  EXPECT_TRUE(IsPlacement(packing, answer.offsets, answer.height));
  EXPECT_EQ(answer.height, PackBestGreedy(packing).height);
  EXPECT_FALSE(answer.optimal);
}

TEST(ExactPackingTest, AFixedItemInTheMiddleIsPackedAround) {
  // 4 and 3 fit under and over the fixed 2 only in one way.
  const Packing packing{{Item(2, 0, 4, 1, 3), Item(4, 0, 4), Item(3, 0, 4)}};
  const PackingAnswer answer = PackExact(packing, kEnough);
  EXPECT_EQ(answer.offsets, (std::vector<int64_t>{3, 5, 0}));
  EXPECT_TRUE(answer.optimal);
}

struct Kind {
  const char* name;
  RandomShape shape;
  uint64_t seeds;
};

class ExactPackingAgainstBruteForce : public testing::TestWithParam<Kind> {};

TEST_P(ExactPackingAgainstBruteForce, FindsAndProvesTheLeastHeight) {
  for (uint64_t seed = 0; seed < GetParam().seeds; ++seed) {
    const Packing packing = RandomPacking(GetParam().shape, seed);
    const int64_t least = LeastHeight(packing);
    const PackingAnswer answer = PackExact(packing, kEnough);
    ASSERT_EQ(answer.height, least) << seed;
    ASSERT_TRUE(answer.optimal) << seed;
    ASSERT_TRUE(IsPlacement(packing, answer.offsets, answer.height)) << seed;
    ASSERT_TRUE(PackExact(packing, Into(least - 1)).infeasible) << seed;
    ASSERT_LE(PackExact(packing, Into(least)).height, least) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ExactPackingAgainstBruteForce,
    testing::Values(
        Kind{"plain", {.items = 7, .moments = 7, .largest = 4}, 400},
        Kind{"crowded", {.items = 7, .moments = 3, .largest = 3}, 100},
        Kind{"aligned", {.items = 6, .moments = 6, .largest = 4, .alignments = true}, 100},
        Kind{"fixed", {.items = 6, .moments = 6, .largest = 4, .fixed = true}, 100},
        Kind{"both",
             {.items = 6, .moments = 5, .largest = 4, .alignments = true, .fixed = true},
             300}),
    [](const testing::TestParamInfo<Kind>& info) { return std::string(info.param.name); });

TEST(ExactPackingTest, ProvesWhatFullMomentsCost) {
  int above_the_bound = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Packing packing = RefilledPacking(10, 10, seed);
    const int64_t least = LeastHeight(packing);
    const PackingAnswer answer = PackExact(packing, kEnough);
    ASSERT_EQ(answer.height, least) << seed;
    ASSERT_TRUE(answer.optimal) << seed;
    above_the_bound += least > PackingLowerBound(packing) ? 1 : 0;
  }
  EXPECT_GE(above_the_bound, 10);
}

using Technique = std::pair<const char*, bool ExactTechniques::*>;

class ExactPackingTechnique : public testing::TestWithParam<Technique> {};

TEST_P(ExactPackingTechnique, SwitchedOffGivesTheSameOptimum) {
  ExactTechniques without;
  without.*GetParam().second = false;
  const RandomShape shapes[] = {{.items = 8, .moments = 6, .largest = 4, .alignments = true},
                                {.items = 8, .moments = 6, .largest = 4, .fixed = true}};
  const auto make = [&](size_t kind, uint64_t seed) {
    return kind < 2 ? RandomPacking(shapes[kind], seed) : RefilledPacking(10, 10, seed);
  };
  for (size_t kind = 0; kind < 3; ++kind) {
    for (uint64_t seed = 0; seed < 300; ++seed) {
      const Packing packing = make(kind, seed);
      const PackingAnswer with = PackExact(packing, kEnough);
      const PackingAnswer answer = PackExact(packing, kEnough, without);
      ASSERT_TRUE(answer.optimal) << seed;
      ASSERT_EQ(answer.height, with.height) << seed;
      ASSERT_TRUE(IsPlacement(packing, answer.offsets, answer.height)) << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Techniques, ExactPackingTechnique,
    testing::Values(Technique{"divisor", &ExactTechniques::divisor},
                    Technique{"decomposition", &ExactTechniques::decomposition},
                    Technique{"dominance", &ExactTechniques::dominance},
                    Technique{"exclusion", &ExactTechniques::exclusion},
                    Technique{"section_bound", &ExactTechniques::section_bound},
                    Technique{"not_first", &ExactTechniques::not_first},
                    Technique{"refutations", &ExactTechniques::refutations},
                    Technique{"tightest_first", &ExactTechniques::tightest_first},
                    Technique{"restarts", &ExactTechniques::restarts}),
    [](const testing::TestParamInfo<Technique>& info) { return std::string(info.param.first); });

// Cuts a full rectangle straight until there are `items` pieces: it fits with nothing to spare.
Packing CutRectangle(int items, int64_t height, int32_t moments, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto area = [](const PackingItem& item) { return item.size * (item.end - item.begin); };
  Packing packing{{Item(height, 0, moments)}};
  while (static_cast<int>(packing.items.size()) < items) {
    size_t chosen = random() % packing.items.size();
    for (int draw = 0; draw < 4; ++draw) {
      const size_t rival = random() % packing.items.size();
      if (area(packing.items[rival]) > area(packing.items[chosen])) chosen = rival;
    }
    PackingItem& piece = packing.items[chosen];
    PackingItem rest = piece;
    if (random() % 2 == 0) {
      if (piece.end - piece.begin < 2) continue;
      piece.end = static_cast<int32_t>(piece.begin + 1 + random() % (piece.end - piece.begin - 1));
      rest.begin = piece.end;
    } else {
      if (piece.size < 2) continue;
      piece.size = static_cast<int64_t>(1 + random() % (piece.size - 1));
      rest.size -= piece.size;
    }
    packing.items.push_back(rest);
  }
  return packing;
}

TEST(PackingSearchTest, BranchingWhereTheFewestComeNextSolvesMoreFullRectangles) {
  const auto found = [](PackingSearch::Pick pick) {
    int count = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Packing packing = CutRectangle(200, 1000, 100, seed);
      const auto sectioned = MakeSections(packing, true, 1 << 20);
      PackingStrategy strategy{.pick = pick, .key = PackingStrategy::Key::kWidth};
      PackingRefutations refutations;
      PackingSearch search(*sectioned, {});
      const auto outcome =
          search.Run(StrategySequence(*sectioned, {}, strategy), pick,
                     {.capacity = 1000, .steps = 2000, .deadline = {}}, refutations);
      count += outcome == PackingSearch::Outcome::kFound ? 1 : 0;
    }
    return count;
  };
  for (const auto pick : {PackingSearch::Pick::kFewest, PackingSearch::Pick::kTroubled}) {
    const int fewest = found(pick);
    EXPECT_GT(fewest, 4 * found(PackingSearch::Pick::kSequence) / 3);
    EXPECT_GT(fewest, 4 * found(PackingSearch::Pick::kTightest) / 3);
  }
}

// Every technique shortens proofs, or costs what it costs: a search that takes more steps than it
// did has lost something that no answer shows.
TEST(ExactPackingTest, ProofsTakeTheStepsThatTheyTook) {
  const auto steps = [](const ExactTechniques& techniques) {
    int64_t sum = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      sum += PackExact(RefilledPacking(12, 10, seed), kEnough, techniques).steps;
      sum += PackExact(
                 RandomPacking({.items = 10, .moments = 7, .largest = 6, .alignments = true}, seed),
                 kEnough, techniques)
                 .steps;
      sum += PackExact(RefilledPacking(12, 10, seed), Into(12), techniques).steps;
    }
    return sum;
  };
  using Flag = bool ExactTechniques::*;
  std::vector<int64_t> without;
  for (const Flag flag :
       {&ExactTechniques::divisor, &ExactTechniques::decomposition, &ExactTechniques::dominance,
        &ExactTechniques::exclusion, &ExactTechniques::section_bound, &ExactTechniques::not_first,
        &ExactTechniques::refutations, &ExactTechniques::tightest_first,
        &ExactTechniques::restarts}) {
    ExactTechniques techniques;
    techniques.*flag = false;
    without.push_back(steps(techniques));
  }
  EXPECT_EQ(steps({}), 6079);
  EXPECT_EQ(without,
            (std::vector<int64_t>{6079, 6459, 17069, 40803, 6816, 7042, 336042, 6116, 3837}));
}

TEST(ExactPackingTest, RaisingWhatCannotComeNextShortensProofs) {
  ExactTechniques without;
  without.not_first = false;
  int64_t steps_with = 0;
  int64_t steps_without = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Packing packing = RefilledPacking(24, 14, seed);
    steps_with += PackExact(packing, kEnough).steps;
    steps_without += PackExact(packing, kEnough, without).steps;
  }
  EXPECT_LT(10 * steps_with, 9 * steps_without);
}

TEST(PackingStrategiesTest, SharesGrowAsLubySays) {
  const int64_t shares[] = {1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, 1};
  for (int64_t round = 0; round < 16; ++round) EXPECT_EQ(LubyShare(round), shares[round]) << round;
}

TEST(ExactPackingTest, AllTechniquesOffStillProves) {
  const ExactTechniques none{false, false, false, false, false, false, false, false, false};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Packing packing = RefilledPacking(8, 6, seed);
    const PackingAnswer answer = PackExact(packing, kEnough, none);
    ASSERT_TRUE(answer.optimal) << seed;
    ASSERT_EQ(answer.height, LeastHeight(packing)) << seed;
  }
}

TEST(ExactPackingTest, SizesScaleWithoutChangingTheSteps) {
  Packing packing = Wasteful();
  const PackingAnswer small = PackExact(packing, kEnough);
  for (PackingItem& item : packing.items) item.size *= int64_t{1} << 40;
  const PackingAnswer large = PackExact(packing, kEnough);
  EXPECT_EQ(large.height, small.height << 40);
  EXPECT_EQ(large.steps, small.steps);
}

TEST(ExactPackingTest, TheSameStepsGiveTheSameAnswer) {
  const Packing packing = RandomPacking({.items = 80, .moments = 50, .largest = 100}, 7);
  const PackingAnswer first = PackExact(packing, {.steps = 5000});
  const PackingAnswer second = PackExact(packing, {.steps = 5000});
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_LE(first.steps, 5000);
}

TEST(ExactPackingTest, MoreEffortIsNeverWorse) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Packing packing = RandomPacking({.items = 60, .moments = 40, .largest = 100}, seed);
    int64_t height = PackBestGreedy(packing).height;
    for (int64_t steps : {0, 100, 1000, 10000}) {
      const PackingAnswer answer = PackExact(packing, {.steps = steps});
      EXPECT_LE(answer.height, height);
      height = answer.height;
    }
  }
}

TEST(ExactPackingTest, ADeadlineThatCutsIsReported) {
  const Packing packing = RandomPacking({.items = 300, .moments = 150, .largest = 1000}, 3);
  PackingEffort effort{.steps = int64_t{1} << 60, .deadline_ms = 1};
  effort.capacity = PackingLowerBound(packing);
  const PackingAnswer answer = PackExact(packing, effort);
  EXPECT_TRUE(answer.deadline_hit || answer.height == answer.lower_bound || answer.infeasible);
  EXPECT_TRUE(IsPlacement(packing, answer.offsets, answer.height));
}

}  // namespace exact_packing_test
}  // namespace plimsoll::plan
