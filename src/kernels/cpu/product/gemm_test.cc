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

// Whole panels and panels that are cut, one row and several, sums of one part and of several.
TEST(GemmTest, EverySizeGivesTheProductAndNothingElseIsWritten) {
  for (const int64_t rows : {1, 2, 13}) {
    for (const int64_t columns : {1, 16, 17, 65}) {
      for (const int64_t depth : {0, 1, 7, 384, 385, 800}) {
        for (const bool accumulate : {false, true}) {
          ExpectProduct(rows, columns, depth, accumulate, (rows + columns) % 2 == 0);
        }
      }
    }
  }
  ExpectProduct(200, 17, 7, false, false);
  ExpectProduct(200, 17, 385, true, true);
}

}  // namespace gemm_test
}  // namespace plimsoll::kernels::cpu
