#include "kernels/cpu/vector/arg_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <type_traits>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace arg_rows_test {

template <typename T>
int64_t Expected(const T* first, int64_t stride, int64_t length, ArgOrder order) {
  int64_t best = 0;
  for (int64_t i = 1; i < length; ++i) {
    const T one = first[i * stride];
    const T other = first[best * stride];
    const bool equal = one == other || (one != one && other != other);
    const bool beyond = one != one || (order.largest ? one > other : one < other);
    if (equal ? order.last_of_equals : beyond && other == other) best = i;
  }
  return best;
}

// Few values, so that many are equal, and now and then none.
template <typename T>
std::vector<T> Drawn(size_t count, uint32_t seed, bool with_nan) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    value = static_cast<T>(static_cast<int>(random() % 7) - 3);
    if (std::is_floating_point_v<T> && with_nan && random() % 40 == 0) value = static_cast<T>(NAN);
  }
  return values;
}

template <typename T>
void ExpectPlaces() {
  uint32_t seed = 1;
  for (const bool largest : {true, false}) {
    for (const bool last : {true, false}) {
      const ArgOrder order{.largest = largest, .last_of_equals = last};
      for (const int64_t length : {1, 2, 15, 16, 17, 40, 131}) {
        for (const bool with_nan : {true, false}) {
          constexpr int64_t kLanes = 101;
          const std::vector<T> values =
              Drawn<T>(static_cast<size_t>(length * kLanes), ++seed, with_nan);
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

TEST(ArgRowsTest, RowsAndColumnsGiveWhatOneLoopGives) {
  ExpectPlaces<float>();
  ExpectPlaces<int32_t>();
  ExpectPlaces<int64_t>();
}

}  // namespace arg_rows_test
}  // namespace plimsoll::kernels::cpu
