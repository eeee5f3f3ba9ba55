#include "kernels/cpu/product/matrix_vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace matrix_vector_test {

TEST(MatrixVectorTest, AgreesWithTheDefinitionForEveryShape) {
  for (const int64_t width : {1, 7, 8, 64, 71, 130}) {
    for (const int64_t count : {1, 3, 4, 9}) {
      const int64_t stride = width + 3;
      std::vector<float> rows;
      for (int64_t i = 0; i < count * stride; ++i) rows.push_back(std::sin(static_cast<float>(i)));
      std::vector<float> products(static_cast<size_t>(count));
      RowsTimesVector(rows.data(), stride, count, width, rows.data(), 2.0f, products.data());
      std::vector<float> sum(static_cast<size_t>(width));
      SumOfRows(rows.data(), stride, count, width, products.data(), sum.data());
      for (int64_t i = 0; i < count; ++i) {
        double expected = 0;
        for (int64_t k = 0; k < width; ++k) expected += 2.0 * rows[i * stride + k] * rows[k];
        EXPECT_NEAR(products[i], expected, 1e-4) << width << " " << count;
      }
      for (int64_t k = 0; k < width; ++k) {
        double expected = 0;
        for (int64_t i = 0; i < count; ++i) {
          expected += static_cast<double>(products[i]) * rows[i * stride + k];
        }
        EXPECT_NEAR(sum[k], expected, 1e-3) << width << " " << count;
      }
    }
  }
}

TEST(MatrixVectorTest, NoRowsSumToZero) {
  std::vector<float> sum(70, 1.0f);
  SumOfRows(nullptr, 70, 0, 70, nullptr, sum.data());
  EXPECT_EQ(sum, std::vector<float>(70, 0.0f));
}

}  // namespace matrix_vector_test
}  // namespace plimsoll::kernels::cpu
