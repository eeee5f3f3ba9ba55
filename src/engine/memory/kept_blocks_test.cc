#include "engine/memory/kept_blocks.h"

#include <gtest/gtest.h>

#include <cstring>

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

TEST(KeptBlocksTest, WhatIsKeptAndInUseIsNeverMoreThanWasInUseAtOnce) {
  const auto blocks = std::make_shared<KeptBlocks>();
  {
    const auto a = blocks->Take(MiB(3));
    const auto b = blocks->Take(MiB(2));
  }
  EXPECT_EQ(blocks->kept(), MiB(5));
  const auto c = blocks->Take(MiB(1));  // neither has its size, and both and it were too much
  EXPECT_EQ(blocks->kept(), MiB(2));
  const auto d = blocks->Take(MiB(4));
  EXPECT_EQ(blocks->kept(), Bytes(0));
  EXPECT_EQ(blocks->in_use(), MiB(5));
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
