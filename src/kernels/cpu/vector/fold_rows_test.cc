#include "kernels/cpu/vector/fold_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace fold_rows_test {

constexpr RowFold kFoldsOfRows[] = {RowFold::kSum, RowFold::kProduct,    RowFold::kMax,
                                    RowFold::kMin, RowFold::kMagnitudes, RowFold::kSquares};

template <typename T>
T Taken(RowFold fold, T total, T x) {
  switch (fold) {
    case RowFold::kSum:
      return total + x;
    case RowFold::kProduct:
      return total * x;
    case RowFold::kMax:
      return std::max(total, x);
    case RowFold::kMin:
      return std::min(total, x);
    case RowFold::kMagnitudes:
      return total + (x < 0 ? -x : x);
    default:
      return total + x * x;
  }
}

// Ones of both signs, so that products stay small, and some that are larger.
template <typename T>
std::vector<T> Drawn(int64_t count) {
  std::vector<T> drawn;
  for (int64_t i = 0; i < count; ++i) {
    drawn.push_back(static_cast<T>(i % 23 == 5 ? -3 : i % 31 == 7 ? 2 : 1 - i % 3 / 2 * 2));
  }
  return drawn;
}

// Every length around the widths of vectors.
template <typename T>
void ExpectRowsFolded() {
  for (const int64_t count : {0, 1, 2, 3, 5, 7, 8, 13, 16, 31, 40, 63, 71, 133}) {
    for (const RowFold fold : kFoldsOfRows) {
      constexpr int64_t kRows = 3;
      const int64_t stride = count + 2;
      const std::vector<T> x = Drawn<T>(kRows * stride);
      std::vector<T> totals(static_cast<size_t>(count), T{2});
      std::vector<T> expected = totals;
      for (int64_t row = 0; row < kRows; ++row) {
        for (int64_t i = 0; i < count; ++i) {
          T& total = expected[static_cast<size_t>(i)];
          total = Taken(fold, total, x[static_cast<size_t>(row * stride + i)]);
        }
      }
      FoldRowsInto(fold, x.data(), stride, kRows, count, totals.data());
      EXPECT_EQ(totals, expected) << static_cast<int>(fold) << " over " << count;
      if constexpr (std::is_integral_v<T>) {
        T total = fold == RowFold::kProduct ? 1
                  : fold == RowFold::kMax   ? std::numeric_limits<T>::lowest()
                  : fold == RowFold::kMin   ? std::numeric_limits<T>::max()
                                            : 0;
        for (int64_t i = 0; i < count; ++i) total = Taken(fold, total, x[static_cast<size_t>(i)]);
        EXPECT_EQ(FoldRow(fold, x.data(), count), total)
            << static_cast<int>(fold) << " of " << count;
      }
    }
  }
}

TEST(FoldRowsTest, FoldsAsALoopWould) {
  ExpectRowsFolded<float>();
  ExpectRowsFolded<int32_t>();
  ExpectRowsFolded<int64_t>();
}

TEST(FoldRowsTest, TheLargestAndTheSmallestOfNanAreNan) {
  for (const RowFold fold : {RowFold::kMax, RowFold::kMin}) {
    for (int64_t at = 0; at < 40; ++at) {
      std::vector<float> x(120, 1);
      x[static_cast<size_t>(at + 40)] = std::nanf("");
      std::vector<float> totals(40, 1);
      FoldRowsInto(fold, x.data(), 40, 3, 40, totals.data());
      EXPECT_TRUE(std::isnan(totals[static_cast<size_t>(at)])) << at;
      EXPECT_EQ(std::ranges::count_if(totals, [](float total) { return std::isnan(total); }), 1);
    }
  }
}

}  // namespace fold_rows_test
}  // namespace plimsoll::kernels::cpu
