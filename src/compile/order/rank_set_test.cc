#include "compile/order/rank_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace plimsoll::compile {
namespace rank_set_test {

TEST(RankSetTest, KnowsTheNextOneAsASortedSetDoes) {
  for (const int32_t limit : {1, 63, 64, 65, 4096, 4097, 300'000}) {
    std::mt19937 random(static_cast<uint32_t>(limit));
    RankSet ranks(limit);
    std::set<int32_t> known;
    for (int step = 0; step < 2000; ++step) {
      const auto number = static_cast<int32_t>(random() % static_cast<uint32_t>(limit));
      if (random() % 2 == 0) {
        ranks.Insert(number);
        known.insert(number);
      } else {
        ranks.Erase(number);
        known.erase(number);
      }
      const auto from = static_cast<int32_t>(random() % static_cast<uint32_t>(limit + 1));
      const auto next = known.lower_bound(from);
      ASSERT_EQ(ranks.Next(from), next == known.end() ? -1 : *next) << limit << " at " << step;
    }
  }
}

}  // namespace rank_set_test
}  // namespace plimsoll::compile
