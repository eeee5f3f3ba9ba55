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
struct Rows {
  int64_t lanes;
  int64_t length;
  std::vector<int64_t> kept;
};

TEST(TopKTest, GivesWhatAStableSortGives) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(), -0.0F, kInfinity, -kInfinity};
  const ThreadScope threads(2);
  for (const auto& [lanes, length, all_kept] :
       {Rows{70, 150, {1, 5, 9, 32, 33, 150}}, Rows{3, 1000, {33, 60, 400}}}) {
    std::mt19937 random(7);
    std::vector<float> x(static_cast<size_t>(lanes * length));
    for (float& element : x) {
      const auto drawn = static_cast<int>(random() % 60);
      element = drawn >= 56 ? kSpecial[drawn - 56] : static_cast<float>(drawn - 10);
    }
    for (const int64_t largest : {0, 1}) {
      for (const int64_t kept : all_kept) {
        const OneNode node{.op = "TopK",
                           .attributes = {{"k", kept}, {"largest", largest}},
                           .outputs = 2,
                           .version = 9};
        const auto made = node.Run({Numbers<float>({lanes, length}, x)});
        ASSERT_TRUE(made.ok()) << made.error().Text();
        const std::vector<float> values = ElementsOf<float>((*made)[0]);
        const std::vector<int64_t> places = ElementsOf<int64_t>((*made)[1]);
        ASSERT_EQ(static_cast<int64_t>(places.size()), lanes * kept);
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const float* const row = x.data() + lane * length;
          std::vector<int64_t> order(static_cast<size_t>(length));
          std::iota(order.begin(), order.end(), 0);
          // NaN counts as larger than any number.
          const auto before = [](float a, float b) {
            return a < b || (std::isnan(b) && !std::isnan(a));
          };
          std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            return largest == 1 ? before(row[b], row[a]) : before(row[a], row[b]);
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
}

}  // namespace top_k_test
}  // namespace plimsoll::kernels::cpu
