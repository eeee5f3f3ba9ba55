#include "engine/memory/kept_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace plimsoll::engine {
namespace kept_blocks_test {

TEST(KeptBlocksTest, ABlockServesTheNextOfItsSize) {
  const auto blocks = std::make_shared<KeptBlocks>();
  void* const first = blocks->Take(MiB(1)).get();
  const std::shared_ptr<void> again = blocks->Take(MiB(1));
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(blocks->in_use(), MiB(1));
  EXPECT_EQ(blocks->kept(), Bytes(0));
}

TEST(KeptBlocksTest, ALargerBlockServesSmallerOnesAndTheyJoinAgain) {
  const auto blocks = std::make_shared<KeptBlocks>();
  auto* const first = static_cast<std::byte*>(blocks->Take(MiB(4)).get());
  {
    const auto a = blocks->Take(MiB(1));
    const auto b = blocks->Take(MiB(2));
    EXPECT_EQ(a.get(), first);
    EXPECT_EQ(b.get(), first + MiB(1).value());
    EXPECT_EQ(blocks->kept(), MiB(1));
    std::memset(b.get(), 1, 2 << 20);
  }
  EXPECT_EQ(blocks->kept(), MiB(4));
  EXPECT_EQ(blocks->Take(MiB(4)).get(), first);
}

// Sizes that come again in every run, a little more than were in use at once: only what is too much
// goes.
TEST(KeptBlocksTest, WhatIsKeptAndInUseIsNeverMoreThanWasInUseAtOnce) {
  const auto blocks = std::make_shared<KeptBlocks>();
  {
    const auto a = blocks->Take(MiB(8));
    const auto b = blocks->Take(MiB(2));
  }
  EXPECT_EQ(blocks->kept(), MiB(10));
  const auto a = blocks->Take(MiB(8));
  const auto c = blocks->Take(MiB(3));
  EXPECT_EQ(blocks->in_use(), MiB(11)) << "now it is more";
  EXPECT_EQ(blocks->kept(), Bytes(0));
}

TEST(KeptBlocksTest, OnlyWhatIsTooMuchGoesBack) {
  const auto blocks = std::make_shared<KeptBlocks>();
  {
    const auto a = blocks->Take(MiB(4));
    const auto b = blocks->Take(MiB(4));
    const auto c = blocks->Take(MiB(4));
  }
  const auto kept = blocks->Take(MiB(3));  // 9 are left
  const auto larger = blocks->Take(MiB(9) - KiB(512));
  EXPECT_EQ(blocks->in_use() + blocks->kept(), MiB(12)) << "no more than that was dropped";
}

// Of random sizes: blocks never share bytes, and the bound holds at each moment.
TEST(KeptBlocksTest, BlocksOfAnySizesKeepToTheBound) {
  const auto blocks = std::make_shared<KeptBlocks>();
  std::mt19937 random(5);
  struct Held {
    std::shared_ptr<void> block;
    size_t size;
    int mark;
  };
  std::vector<Held> held;
  Bytes most;
  for (int step = 0; step < 2000; ++step) {
    if (held.size() < 6 && random() % 2 == 0) {
      const size_t size = (256 << 10) + random() % (2 << 20);
      held.push_back({blocks->Take(Bytes(static_cast<int64_t>(size))), size, step % 251});
      std::memset(held.back().block.get(), held.back().mark, size);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto* const bytes = static_cast<const unsigned char*>(held.back().block.get());
      for (size_t at = 0; at < held.back().size; at += 4096) {
        ASSERT_EQ(bytes[at], held.back().mark) << "step " << step;
      }
      ASSERT_EQ(bytes[held.back().size - 1], held.back().mark);
      held.pop_back();
    }
    most = std::max(most, blocks->in_use());
    ASSERT_LE(blocks->in_use() + blocks->kept(), most) << "step " << step;
  }
  held.clear();
  EXPECT_EQ(blocks->in_use(), Bytes(0));
  EXPECT_GE(blocks->Trim(), MiB(1));
  EXPECT_EQ(blocks->kept(), Bytes(0));
}

TEST(KeptBlocksTest, TrimGivesBackWhatNobodyUses) {
  const auto blocks = std::make_shared<KeptBlocks>();
  const auto used = blocks->Take(MiB(1));
  blocks->Take(MiB(2)).reset();
  EXPECT_EQ(blocks->Trim(), MiB(2));
  EXPECT_EQ(blocks->kept(), Bytes(0));
  std::memset(used.get(), 1, 1 << 20);
}

TEST(KeptBlocksTest, ABlockMayOutliveItsKeeper) {
  auto blocks = std::make_shared<KeptBlocks>();
  const auto used = blocks->Take(MiB(1));
  blocks.reset();
  std::memset(used.get(), 1, 1 << 20);
}

}  // namespace kept_blocks_test
}  // namespace plimsoll::engine
