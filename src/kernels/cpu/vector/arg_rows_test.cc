#include "kernels/cpu/vector/arg_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace arg_rows_test {

int64_t Expected(const float* first, int64_t stride, int64_t length, ArgOrder order) {
  int64_t best = 0;
  for (int64_t i = 1; i < length; ++i) {
    const float one = first[i * stride];
    const float other = first[best * stride];
    const bool equal = one == other || (std::isnan(one) && std::isnan(other));
    const bool beyond = std::isnan(one) || (order.largest ? one > other : one < other);
    if (equal ? order.last_of_equals : beyond && !std::isnan(other)) best = i;
  }
  return best;
}

// Few values, so that many are equal, and now and then none.
std::vector<float> Drawn(size_t count, uint32_t seed, bool with_nan) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = with_nan && random() % 40 == 0 ? NAN : static_cast<float>(random() % 7) - 3;
  }
  return values;
}

TEST(ArgRowsTest, RowsAndColumnsGiveWhatOneLoopGives) {
  uint32_t seed = 1;
  for (const bool largest : {true, false}) {
    for (const bool last : {true, false}) {
      const ArgOrder order{.largest = largest, .last_of_equals = last};
      for (const int64_t length : {1, 2, 15, 16, 17, 40, 131}) {
        for (const bool with_nan : {true, false}) {
          constexpr int64_t kLanes = 37;
          const std::vector<float> values =
              Drawn(static_cast<size_t>(length * kLanes), ++seed, with_nan);
          EXPECT_EQ(ArgOfRow(values.data(), length, order),
                    Expected(values.data(), 1, length, order))
              << length;
          std::vector<int64_t> places(kLanes);
          ArgOfColumns(values.data(), kLanes, length, kLanes, order, places.data());
          for (int64_t lane = 0; lane < kLanes; ++lane) {
            EXPECT_EQ(places[static_cast<size_t>(lane)],
                      Expected(values.data() + lane, kLanes, length, order))
                << length << " at " << lane;
          }
        }
      }
    }
  }
}

}  // namespace arg_rows_test
}  // namespace plimsoll::kernels::cpu
