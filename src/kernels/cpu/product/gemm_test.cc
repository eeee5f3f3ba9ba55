#include "kernels/cpu/product/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/cpu/product/panel_product.h"

namespace plimsoll::kernels::cpu {
namespace gemm_test {

// Small whole numbers, so that sums are exact in any order.
std::vector<float> Numbers(int64_t count, int seed) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>((i * 7 + seed) % 5 - 2));
  }
  return numbers;
}

// C = scale * A B, added to what is there or not; elements between the rows of C stay as they are.
void ExpectProduct(int64_t rows, int64_t columns, int64_t depth, bool accumulate, bool turned) {
  const int64_t width = (columns + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
  const int64_t stride = columns + 3;
  const std::vector<float> a = Numbers(rows * depth, 1);
  const std::vector<float> b = Numbers(depth * width, 2);
  std::vector<float> c = Numbers(rows * stride, 3);
  const std::vector<float> before = c;
  const Gemm gemm{.rows = rows,
                  .columns = columns,
                  .depth = depth,
                  .a = a.data(),
                  .a_row_stride = turned ? 1 : depth,
                  .a_depth_stride = turned ? rows : 1,
                  .b = {.data = b.data(), .row_stride = width, .panel_stride = kPanelWidth},
                  .scale = 0.5F,
                  .c = c.data(),
                  .c_stride = stride,
                  .accumulate = accumulate};
  RunGemm(gemm);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < stride; ++column) {
      const auto at = static_cast<size_t>(row * stride + column);
      float expected = before[at];
      if (column < columns) {
        float sum = 0;
        for (int64_t d = 0; d < depth; ++d) {
          sum += a[static_cast<size_t>(turned ? d * rows + row : row * depth + d)] *
                 b[static_cast<size_t>(d * width + column)];
        }
        expected = 0.5F * sum + (accumulate ? before[at] : 0);
      }
      ASSERT_EQ(c[at], expected) << rows << "x" << columns << "x" << depth << " at " << row << ","
                                 << column << (accumulate ? ", added" : "");
    }
  }
}

// Whole panels and panels that are cut, every number of rows behind full tiles, sums of one part
// and of several.
TEST(GemmTest, EverySizeGivesTheProductAndNothingElseIsWritten) {
  for (int64_t rows = 1; rows <= 25; ++rows) {
    for (const int64_t columns : {1, 16, 17, 33, 65, 83, 101}) {
      for (const int64_t depth : {0, 1, 7, 385}) {
        for (const bool accumulate : {false, true}) {
          ExpectProduct(rows, columns, depth, accumulate, (rows + columns) % 2 == 0);
        }
      }
    }
  }
  ExpectProduct(200, 17, 7, false, false);
  ExpectProduct(200, 17, 385, true, true);
  ExpectProduct(2, 65, 800, true, true);
}

// A row's sums are the same bits whatever rows stand around it and whichever panels go together.
TEST(GemmTest, TheNumberOfRowsChangesNoBit) {
  constexpr int64_t kRows = 25, kColumns = 83, kDepth = 401, kWidth = 96;
  std::vector<float> a, b;
  for (int64_t i = 0; i < kRows * kDepth; ++i) a.push_back(std::sin(static_cast<float>(i)));
  for (int64_t i = 0; i < kDepth * kWidth; ++i) b.push_back(std::cos(static_cast<float>(i)));
  const auto product = [&](int64_t first, int64_t rows) {
    std::vector<float> c(static_cast<size_t>(rows * kColumns));
    RunGemm({.rows = rows,
             .columns = kColumns,
             .depth = kDepth,
             .a = a.data() + first * kDepth,
             .a_row_stride = kDepth,
             .b = {.data = b.data(), .row_stride = kWidth, .panel_stride = kPanelWidth},
             .c = c.data(),
             .c_stride = kColumns});
    return c;
  };
  std::vector<float> alone;
  for (int64_t row = 0; row < kRows; ++row) {
    const std::vector<float> one = product(row, 1);
    alone.insert(alone.end(), one.begin(), one.end());
  }
  for (int64_t rows = 2; rows <= kRows; ++rows) {
    const std::vector<float> first(alone.begin(), alone.begin() + rows * kColumns);
    EXPECT_EQ(product(0, rows), first) << rows << " rows";
  }
}

}  // namespace gemm_test
}  // namespace plimsoll::kernels::cpu
