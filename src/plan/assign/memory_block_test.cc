#include "plan/assign/memory_block.h"

#include <gtest/gtest.h>

namespace plimsoll::plan {
namespace memory_block_test {

// Free blocks of these sizes, released in this order.
class FreeBlocksTest : public testing::Test {
 protected:
  void Release(int64_t size, int64_t alignment = 1, int64_t fixed = -1) {
    MemoryBlock block;
    block.size = size;
    block.alignment = alignment;
    block.fixed = fixed;
    blocks_.push_back(block);
  }
  // Which block serves a request; -1: none does.
  int64_t Taken(const BlockReuseKnobs& knobs, int64_t size, int64_t alignment = 1) const {
    FreeBlocks free(knobs);
    for (uint32_t i = 0; i < blocks_.size(); ++i) free.Release(i, blocks_[i]);
    return free.Take(size, alignment, blocks_);
  }

  std::vector<MemoryBlock> blocks_;
};

constexpr BlockReuseKnobs kKeepSizes{.memory_priority_mode = false};
constexpr BlockReuseKnobs kGrow{.memory_priority_mode = true};

TEST_F(FreeBlocksTest, TheSmallestThatIsLargeEnoughServes) {
  for (const int64_t size : {300, 100, 200}) Release(size);
  EXPECT_EQ(Taken(kKeepSizes, 100), 1) << "exactly as large";
  EXPECT_EQ(Taken(kKeepSizes, 101), 2);
  EXPECT_EQ(Taken(kKeepSizes, 200), 2);
  EXPECT_EQ(Taken(kKeepSizes, 300), 0);
  EXPECT_EQ(Taken(kKeepSizes, 301), -1);
}

TEST_F(FreeBlocksTest, OfEqualsTheFirstServes) {
  Release(100);
  Release(100);
  EXPECT_EQ(Taken(kKeepSizes, 80), 0);
}

TEST_F(FreeBlocksTest, TheFirstReleasedServesOnRequest) {
  for (const int64_t size : {50, 300, 100}) Release(size);
  BlockReuseKnobs first = kKeepSizes;
  first.reuse_first_release = true;
  EXPECT_EQ(Taken(first, 100), 1) << "the first that is large enough, though another fits better";
  EXPECT_EQ(Taken(first, 400), -1);
  first.memory_priority_mode = true;
  EXPECT_EQ(Taken(first, 400), 0) << "the first released grows";
}

TEST_F(FreeBlocksTest, WithoutOneThatIsLargeEnoughTheLargestGrows) {
  for (const int64_t size : {300, 100, 200}) Release(size);
  EXPECT_EQ(Taken(kGrow, 301), 0);
  EXPECT_EQ(Taken(kGrow, 150), 2) << "no growth where one serves";
}

TEST_F(FreeBlocksTest, ABlockAtASettledPlaceDoesNotGrow) {
  Release(300, 1, 0);
  Release(100);
  EXPECT_EQ(Taken(kGrow, 301), 1);
  EXPECT_EQ(Taken(kGrow, 300), 0) << "it serves what fits";
  BlockReuseKnobs first = kGrow;
  first.reuse_first_release = true;
  EXPECT_EQ(Taken(first, 301), 1);
  blocks_.pop_back();
  EXPECT_EQ(Taken(kGrow, 301), -1);
  EXPECT_EQ(Taken(first, 301), -1);
}

TEST_F(FreeBlocksTest, OnlyABlockAlignedForTheRequestServesOrGrows) {
  Release(300, 32);
  EXPECT_EQ(Taken(kGrow, 100, 32), 0);
  EXPECT_EQ(Taken(kGrow, 100, 16), 0);
  EXPECT_EQ(Taken(kGrow, 100, 64), -1);
  EXPECT_EQ(Taken(kGrow, 400, 64), -1);
  Release(500, 64);
  EXPECT_EQ(Taken(kGrow, 100, 64), 1) << "the next larger one is aligned";
  EXPECT_EQ(Taken(kGrow, 600, 64), 1);
  EXPECT_EQ(Taken(kGrow, 600, 32), 1) << "the largest grows least";
  BlockReuseKnobs first = kGrow;
  first.reuse_first_release = true;
  EXPECT_EQ(Taken(first, 600, 64), 1);
}

TEST_F(FreeBlocksTest, ARangeIsAPowerOfTwo) {
  for (const int64_t size : {1024, 1023, 512, 511}) Release(size);
  BlockReuseKnobs range = kKeepSizes;
  range.use_range = true;
  EXPECT_EQ(Taken(range, 512), 2);
  EXPECT_EQ(Taken(range, 513), 1);
  EXPECT_EQ(Taken(range, 300), 3);
  EXPECT_EQ(Taken(range, 255), -1) << "511 is of the next range";
  EXPECT_EQ(Taken(kKeepSizes, 255), 3);
  EXPECT_EQ(Taken(range, 1023), 1);
  EXPECT_EQ(Taken(range, 1024), 0);
}

TEST_F(FreeBlocksTest, ABlockServesOnce) {
  Release(100);
  FreeBlocks free(kKeepSizes);
  free.Release(0, blocks_[0]);
  EXPECT_EQ(free.Take(100, 1, blocks_), 0);
  EXPECT_EQ(free.Take(100, 1, blocks_), -1);
}

}  // namespace memory_block_test
}  // namespace plimsoll::plan
