#include "device/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plimsoll::device {
namespace address_space_test {

TEST(AddressSpaceTest, TakesTheLowestPlaceThatFits) {
  AddressSpace space(1000, Bytes(1000));
  EXPECT_EQ(space.Take(Bytes(100), Bytes(1)), 1000u);
  EXPECT_EQ(space.Take(Bytes(100), Bytes(256)), 1280u);
  EXPECT_EQ(space.Take(Bytes(180), Bytes(1)), 1100u);
  EXPECT_EQ(space.Take(Bytes(1000), Bytes(1)), std::nullopt);
  EXPECT_EQ(space.Take(Bytes(620), Bytes(1)), 1380u);
  EXPECT_EQ(space.Take(Bytes(1), Bytes(1)), std::nullopt);
}

TEST(AddressSpaceTest, AnAlignmentBeyondTheEndDoesNotWrap) {
  AddressSpace space(~uint64_t{0} - 4096, Bytes(4096));
  EXPECT_EQ(space.Take(Bytes(1), Bytes(int64_t{1} << 62)), std::nullopt);
}

TEST(AddressSpaceTest, WhatComesBackIsOnePieceAgain) {
  constexpr int64_t kSize = 1 << 20;
  AddressSpace space(0, Bytes(kSize));
  std::mt19937 random(7);
  std::map<uint64_t, int64_t> taken;
  for (int step = 0; step < 20000; ++step) {
    if (taken.size() < 64 && random() % 2 == 0) {
      const auto size = static_cast<int64_t>(1 + random() % 20000);
      const int64_t alignment = int64_t{1} << random() % 13;
      const auto at = space.Take(Bytes(size), Bytes(alignment));
      if (!at) continue;
      EXPECT_EQ(*at % static_cast<uint64_t>(alignment), 0u);
      EXPECT_LE(*at + static_cast<uint64_t>(size), static_cast<uint64_t>(kSize));
      const auto [place, is_new] = taken.emplace(*at, size);
      ASSERT_TRUE(is_new);
      const auto next = std::next(place);
      EXPECT_TRUE(next == taken.end() || *at + static_cast<uint64_t>(size) <= next->first);
      if (place != taken.begin()) {
        const auto previous = std::prev(place);
        EXPECT_LE(previous->first + static_cast<uint64_t>(previous->second), *at);
      }
    } else if (!taken.empty()) {
      const auto victim = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      space.GiveBack(victim->first, Bytes(victim->second));
      taken.erase(victim);
    }
  }
  for (const auto& [at, size] : taken) space.GiveBack(at, Bytes(size));
  EXPECT_EQ(space.Take(Bytes(kSize), Bytes(1)), 0u);
}

}  // namespace address_space_test
}  // namespace plimsoll::device
