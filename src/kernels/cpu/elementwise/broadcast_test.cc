#include "kernels/cpu/elementwise/broadcast.h"

#include <gtest/gtest.h>

#include "kernels/cpu/elementwise/broadcast_blocks.h"

namespace plimsoll::kernels::cpu {
namespace broadcast_test {

using Offsets = std::vector<std::array<int64_t, 2>>;

// Where both operands' elements lie for each element of [begin, end) of the output, and in how many
// runs that was told.
struct Walk {
  Offsets offsets;
  int runs = 0;
};

Walk WalkOver(const Broadcast<2>& plan, int64_t begin, int64_t end) {
  Walk walk;
  int64_t expected = begin;
  plan.ForEachRun(begin, end,
                  [&](int64_t position, int64_t count, const auto& at, const auto& step) {
                    EXPECT_EQ(position, expected);
                    expected += count;
                    ++walk.runs;
                    for (int64_t i = 0; i < count; ++i) {
                      walk.offsets.push_back({at[0] + i * step[0], at[1] + i * step[1]});
                    }
                  });
  EXPECT_EQ(expected, std::max(begin, end));
  return walk;
}

Broadcast<2> PlanOf(std::vector<int64_t> output, std::vector<int64_t> a, std::vector<int64_t> b) {
  return *Broadcast<2>::Make(output, {a, b});
}

TEST(BroadcastTest, EqualShapesAreOneRun) {
  const Walk walk = WalkOver(PlanOf({2, 3, 4}, {2, 3, 4}, {2, 3, 4}), 0, 24);
  EXPECT_EQ(walk.runs, 1);
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(walk.offsets[i], (Offsets::value_type{i, i}));
}

TEST(BroadcastTest, AScalarIsOneRunThatStandsStill) {
  const Walk walk = WalkOver(PlanOf({2, 3}, {2, 3}, {}), 0, 6);
  EXPECT_EQ(walk.runs, 1);
  EXPECT_EQ(walk.offsets.back(), (Offsets::value_type{5, 0}));
}

TEST(BroadcastTest, ARowRepeatsAndAColumnStretches) {
  EXPECT_EQ(WalkOver(PlanOf({2, 3}, {2, 3}, {3}), 0, 6).offsets,
            (Offsets{{0, 0}, {1, 1}, {2, 2}, {3, 0}, {4, 1}, {5, 2}}));
  EXPECT_EQ(WalkOver(PlanOf({2, 3}, {2, 1}, {1, 3}), 0, 6).offsets,
            (Offsets{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(BroadcastTest, AxesThatAllOperandsWalkAlikeAreOne) {
  const Walk walk = WalkOver(PlanOf({2, 5, 3, 4}, {2, 5, 3, 4}, {5, 1, 1}), 0, 120);
  EXPECT_EQ(walk.runs, 10);
  EXPECT_EQ(walk.offsets[12], (Offsets::value_type{12, 1}));
  EXPECT_EQ(walk.offsets[60], (Offsets::value_type{60, 0}));
}

TEST(BroadcastTest, AnyPartIsWhatItIsInTheWhole) {
  const Broadcast<2> plan = PlanOf({3, 4, 5}, {3, 1, 5}, {4, 1});
  const Walk whole = WalkOver(plan, 0, 60);
  for (int64_t begin = 0; begin < 60; begin += 7) {
    const int64_t end = std::min<int64_t>(begin + 13, 60);
    EXPECT_EQ(WalkOver(plan, begin, end).offsets,
              Offsets(whole.offsets.begin() + begin, whole.offsets.begin() + end));
  }
}

TEST(BroadcastTest, NothingAndOneElementWork) {
  EXPECT_EQ(PlanOf({0, 3}, {0, 3}, {3}).count(), 0);
  EXPECT_TRUE(WalkOver(PlanOf({0, 3}, {0, 3}, {3}), 0, 0).offsets.empty());
  EXPECT_EQ(WalkOver(PlanOf({}, {}, {}), 0, 1).offsets, (Offsets{{0, 0}}));
  EXPECT_EQ(WalkOver(PlanOf({1, 1}, {1}, {1, 1}), 0, 1).offsets, (Offsets{{0, 0}}));
}

TEST(BroadcastTest, ShapesOfTooManyAxesAreRefused) {
  std::vector<int64_t> output, a, b;
  for (int axis = 0; axis < 40; ++axis) {
    output.push_back(2);
    a.push_back(axis % 2 == 0 ? 2 : 1);
    b.push_back(axis % 2 == 0 ? 1 : 2);
  }
  EXPECT_FALSE(Broadcast<2>::Make(output, {a, b}).has_value());
  EXPECT_TRUE(Broadcast<2>::Make(output, {output, output}).has_value());
}

void PairUp(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    static_cast<int64_t*>(to)[i] = static_cast<const int32_t*>(a)[i * step_a] * int64_t{1'000'000} +
                                   static_cast<const int64_t*>(b)[i * step_b];
  }
}

// Whether blocks are used, and that they give what runs give.
bool GoesByBlocks(std::vector<int64_t> output, std::vector<int64_t> a, std::vector<int64_t> b) {
  const Broadcast<2> plan = PlanOf(output, a, b);
  const auto blocks = BroadcastBlocks::Make(plan, {sizeof(int32_t), sizeof(int64_t)}, 8);
  if (!blocks) return false;
  std::vector<int32_t> left(static_cast<size_t>(plan.count()));
  std::vector<int64_t> right(left.size());
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<int32_t>(i + 1);
    right[i] = static_cast<int64_t>(i + 7);
  }
  std::vector<int64_t> expected(left.size());
  plan.ForEachRun(0, plan.count(),
                  [&](int64_t position, int64_t count, const auto& at, const auto& step) {
                    PairUp(left.data() + at[0], step[0], right.data() + at[1], step[1],
                           expected.data() + position, count);
                  });
  std::vector<int64_t> made(left.size());
  blocks->Run({left.data(), right.data()}, made.data(), PairUp);
  EXPECT_EQ(made, expected);
  return true;
}

TEST(BroadcastBlocksTest, ShortRunsGoByBlocksAndGiveTheSame) {
  EXPECT_TRUE(GoesByBlocks({3, 37, 23, 4, 6}, {3, 37, 23, 4, 6}, {3, 1, 1, 4, 1}));
  EXPECT_TRUE(GoesByBlocks({3, 37, 23, 4, 6}, {1, 4, 1}, {3, 37, 23, 4, 6}));
  EXPECT_TRUE(GoesByBlocks({2000, 3}, {2000, 3}, {3}));
  EXPECT_TRUE(GoesByBlocks({50, 60, 3}, {50, 1, 3}, {1, 60, 3})) << "both broadcast";
  EXPECT_TRUE(GoesByBlocks({2, 700, 5, 2}, {2, 700, 1, 2}, {2, 1, 5, 1}));
  EXPECT_TRUE(GoesByBlocks({3, 1025, 31}, {3, 1025, 31}, {3, 1025, 1}));
}

TEST(BroadcastBlocksTest, LongRunsAndWhatServesOnceDoNot) {
  EXPECT_FALSE(GoesByBlocks({40, 64}, {40, 64}, {40, 1}));
  EXPECT_FALSE(GoesByBlocks({300, 2}, {300, 2}, {300, 1}));
}

}  // namespace broadcast_test
}  // namespace plimsoll::kernels::cpu
