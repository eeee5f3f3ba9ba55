#include <gtest/gtest.h>

#include "plan/assign/plan_for_tests.h"
#include "plan/problem/validation.h"

namespace plimsoll::plan {
namespace alignment_test {

// A buffer's own alignment holds whatever it is bound to: every kind of group, and the verifier
// agrees.
class AlignmentTest : public PlanTest {
 protected:
  AlignmentTest() { map_ = problem_.AddRegion({.name = "map"}); }
  BufferId Add(int64_t size, int64_t alignment, BatchId batch = {}) {
    return problem_.AddBuffer({.size = Bytes(size),
                               .alignment = alignment,
                               .region = map_,
                               .life = {.begin = 0, .end = 2},
                               .batch = batch});
  }

  RegionId map_;
};

TEST_F(AlignmentTest, OfABufferAlone) {
  Add(100, 1);
  const BufferId wide = Add(100, 4096);
  Add(100, 1);
  EXPECT_EQ(At(Plan(), wide) % 4096, 0);
  // No multiple of the region's alignment: the least common one holds.
  const BufferId odd = Add(100, 768);
  Add(100, 1);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, odd) % 1536, 0);
}

TEST_F(AlignmentTest, OfEveryMemberOfAClearingArea) {
  const BufferId first = Add(100, 1);
  const BufferId second = Add(100, 2048);
  const BufferId third = Add(100, 1024);
  for (const BufferId id : {first, second, third}) {
    problem_.buffers[id.index()].atomic_addr_clean_id = 0;
  }
  const MemoryPlan plan = Plan();
  ASSERT_EQ(plan.clearing_areas.size(), 1u);
  EXPECT_EQ(At(plan, first), 0);
  EXPECT_EQ(At(plan, second), 2048);
  EXPECT_EQ(At(plan, third), 3072);
  EXPECT_EQ(plan.clearing_areas[0].size, Bytes(3584)) << "up to the granule of the last member";
}

TEST_F(AlignmentTest, OfAGroupInsideAClearingArea) {
  const BufferId alone = Add(100, 1);
  const BufferId a = Add(512, 1);
  const BufferId b = Add(512, 4096);
  for (const BufferId id : {alone, a, b}) problem_.buffers[id.index()].atomic_addr_clean_id = 7;
  problem_.contiguous.push_back({.members = {a, b}, .padded = true});
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, b) % 4096, 0);
  EXPECT_EQ(At(plan, b) - At(plan, a), 4096) << "padded from the start of the group";
}

TEST_F(AlignmentTest, OfTheMembersOfAPaddedGroup) {
  const BufferId a = Add(100, 1);
  const BufferId b = Add(100, 1536);
  const BufferId c = Add(100, 1);
  problem_.contiguous.push_back({.members = {a, b, c}, .padded = true});
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, b) - At(plan, a), 1536);
  EXPECT_EQ(At(plan, b) % 1536, 0);
  EXPECT_EQ(At(plan, c) - At(plan, b), 512);
}

TEST_F(AlignmentTest, OfTheMembersOfAGroupWithoutPaddingWhereTheSizesAllowIt) {
  const BufferId a = Add(96, 1);
  const BufferId b = Add(100, 32);
  problem_.contiguous.push_back({.members = {a, b}, .padded = false});
  EXPECT_EQ(At(Plan(), b) - At(Plan(), a), 96);
  problem_.buffers[a.index()].size = Bytes(97);
  const Status refused = Validate(problem_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "plan.contradiction");
  EXPECT_NE(refused.error().why.find("97 bytes behind an aligned start"), std::string::npos)
      << refused.error().why;
}

TEST_F(AlignmentTest, OfAWindowAndOfAChainOfWindows) {
  const BufferId whole = Add(4096, 1);
  const BufferId half = Add(2048, 1);
  const BufferId quarter = Add(1024, 1024);
  problem_.aliases = {{half, whole, Bytes(2048)}, {quarter, half, Bytes(1024)}};
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, quarter) - At(plan, whole), 3072);
  EXPECT_EQ(At(plan, quarter) % 1024, 0);
  problem_.aliases[1].offset = Bytes(512);
  EXPECT_FALSE(Validate(problem_).ok()) << "it would lie 2560 bytes behind an aligned start";
}

TEST_F(AlignmentTest, OfEveryRowOfAMergedBlock) {
  const BatchId small = problem_.AddBatch("small");
  const BatchId large = problem_.AddBatch("large");
  std::vector<BufferId> second_row;
  for (const BatchId batch : {small, large}) {
    const BufferId a = Add(100, 1, batch);
    const BufferId b = Add(156, 1, batch);
    problem_.contiguous.push_back({.members = {a, b}});
    const BufferId c = Add(4096, batch == large ? 8192 : 1, batch);
    second_row.push_back(c);
    problem_.contiguous.push_back({.members = {c, Add(100, 1, batch)}});
  }
  const MemoryPlan plan = Plan();
  ASSERT_EQ(plan.merged_blocks.size(), 1u);
  EXPECT_EQ(At(plan, second_row[1]) % 8192, 0);
  EXPECT_EQ(At(plan, second_row[0]), At(plan, second_row[1])) << "a row starts where all can";
  EXPECT_EQ(plan.merged_blocks[0].size, Bytes(8192 + 4096 + 512));
}

TEST_F(AlignmentTest, OfAFixedOffset) {
  const BufferId fixed = Add(100, 1024);
  problem_.buffers[fixed.index()].fixed_offset = Offset(1024);
  EXPECT_EQ(At(Plan(), fixed), 1024);
  problem_.buffers[fixed.index()].fixed_offset = Offset(1536);
  const Status refused = Validate(problem_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().why.find("no multiple of the alignment 1024"), std::string::npos);
}

TEST_F(AlignmentTest, OfWhatMovesIntoTheCallersMemory) {
  const RegionId io = problem_.AddRegion(
      {.name = "io", .kind = RegionKind::kZeroCopy, .alignment = kZeroCopyAlignment});
  const auto add = [&](int64_t size, int64_t alignment, int64_t begin, bool zero_copy) {
    return problem_.AddBuffer({.size = Bytes(size),
                               .alignment = alignment,
                               .region = io,
                               .life = {.begin = begin, .end = begin + 1},
                               .zero_copy = zero_copy});
  };
  add(32, 1, 0, true);
  const BufferId host = add(80, 1, 0, true);
  const BufferId guest = add(64, 64, 3, false);
  const MemoryPlan plan = Plan();
  EXPECT_EQ(At(plan, host), 32);
  EXPECT_EQ(At(plan, guest), 128) << "it cannot lie in the second";
  problem_.buffers[guest.index()].alignment = 32;
  EXPECT_EQ(At(Plan(), guest), 32);
}

TEST_F(AlignmentTest, AlignmentsWithoutACommonMultipleToTwoToTheFortyAreRefused) {
  const int64_t largest = kLargestAlignment;
  const BufferId a = Add(16, largest);
  EXPECT_TRUE(Validate(problem_).ok());
  const BufferId b = Add(16, 3);
  problem_.aliases = {{b, a, Bytes(0)}};
  const Status refused = Validate(problem_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "plan.bad_alignment");
}

}  // namespace alignment_test
}  // namespace plimsoll::plan
