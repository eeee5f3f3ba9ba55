#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cpu/one_node.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace top_k_test {

// Few and many kept, equal elements and NaN among them, against a stable sort.
TEST(TopKTest, GivesWhatAStableSortGives) {
  constexpr int64_t kLanes = 70;
  constexpr int64_t kLength = 150;
  std::mt19937 random(7);
  std::vector<float> x(kLanes * kLength);
  for (float& element : x) {
    const auto drawn = static_cast<float>(random() % 60);
    element = drawn == 59 ? std::numeric_limits<float>::quiet_NaN() : drawn;
  }
  const ThreadScope threads(2);
  for (const int64_t largest : {0, 1}) {
    for (const int64_t kept : {1, 5, 9, 32, 33, 150}) {
      const OneNode node{.op = "TopK",
                         .attributes = {{"k", kept}, {"largest", largest}},
                         .outputs = 2,
                         .version = 9};
      const auto made = node.Run({Numbers<float>({kLanes, kLength}, x)});
      ASSERT_TRUE(made.ok()) << made.error().Text();
      const std::vector<float> values = ElementsOf<float>((*made)[0]);
      const std::vector<int64_t> places = ElementsOf<int64_t>((*made)[1]);
      ASSERT_EQ(static_cast<int64_t>(places.size()), kLanes * kept);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const float* const row = x.data() + lane * kLength;
        std::vector<int64_t> order(kLength);
        std::iota(order.begin(), order.end(), 0);
        // NaN counts as larger than any number.
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
          const float left = std::isnan(row[a]) ? 1e9f : row[a];
          const float right = std::isnan(row[b]) ? 1e9f : row[b];
          return largest == 1 ? left > right : left < right;
        });
        for (int64_t i = 0; i < kept; ++i) {
          const auto at = static_cast<size_t>(lane * kept + i);
          ASSERT_EQ(places[at], order[static_cast<size_t>(i)])
              << kept << " kept, lane " << lane << ", place " << i;
          const float wanted = row[places[at]];
          ASSERT_TRUE(values[at] == wanted || (std::isnan(values[at]) && std::isnan(wanted)));
        }
      }
    }
  }
}

}  // namespace top_k_test
}  // namespace plimsoll::kernels::cpu
