#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/product/product_shape.h"

namespace plimsoll::kernels::cpu {
namespace double_product_test {

using Doubles = std::vector<double>;

Doubles Wave(int64_t count, double phase) {
  Doubles wave;
  for (int64_t i = 0; i < count; ++i)
    wave.push_back(std::sin(phase + 0.7 * static_cast<double>(i)));
  return wave;
}

// Two products that share one B, with A and B as they are or transposed.
ProductShape Shape(int64_t rows, int64_t columns, int64_t depth, bool turns_a, bool turns_b) {
  return {.rows = rows,
          .columns = columns,
          .depth = depth,
          .a_row_stride = turns_a ? 1 : depth,
          .a_depth_stride = turns_a ? rows : 1,
          .b_depth_stride = turns_b ? 1 : columns,
          .b_column_stride = turns_b ? depth : 1,
          .a_matrices = {0, 1},
          .b_matrices = {0, 0},
          .b_count = 1};
}

Doubles ByDefinition(const ProductShape& shape, const Doubles& a, const Doubles& b, Doubles c) {
  for (int64_t matrix = 0; matrix < 2; ++matrix) {
    for (int64_t row = 0; row < shape.rows; ++row) {
      for (int64_t column = 0; column < shape.columns; ++column) {
        for (int64_t d = 0; d < shape.depth; ++d) {
          c.at(static_cast<size_t>(matrix * shape.c_size() + row * shape.columns + column)) +=
              a.at(static_cast<size_t>(matrix * shape.a_size() + row * shape.a_row_stride +
                                       d * shape.a_depth_stride)) *
              b.at(static_cast<size_t>(d * shape.b_depth_stride + column * shape.b_column_stride));
        }
      }
    }
  }
  return c;
}

TEST(DoubleProductTest, IsTheSumOfProductsWhateverTheStridesAndThreads) {
  for (const int64_t rows : {1, 3, 4, 13}) {
    for (const int64_t columns : {1, 16, 17, 70, 150}) {
      for (const int64_t depth : {0, 1, 37, 300}) {
        for (const int turns : {0, 1, 2, 3}) {
          const ProductShape shape =
              Shape(rows, columns, depth, (turns & 1) != 0, (turns & 2) != 0);
          const Doubles a = Wave(2 * shape.a_size(), 0.1);
          const Doubles b = Wave(shape.b_size(), 0.2);
          for (const bool onto : {false, true}) {
            const Doubles before = Wave(2 * shape.c_size(), 0.3);
            const Doubles zeros(before.size(), 0.0);
            const Doubles expected = ByDefinition(shape, a, b, onto ? before : zeros);
            Doubles alone;
            for (const int threads : {1, 3}) {
              const ThreadScope scope(threads);
              Doubles c = before;
              MultiplyDoubles(shape, a.data(), b.data(), c.data(), onto);
              for (size_t i = 0; i < c.size(); ++i) {
                ASSERT_NEAR(c[i], expected[i], 1e-12)
                    << rows << " x " << columns << " x " << depth << ", turned " << turns;
              }
              if (threads == 1) alone = c;
              EXPECT_EQ(c, alone);
            }
          }
        }
      }
    }
  }
}

}  // namespace double_product_test
}  // namespace plimsoll::kernels::cpu
