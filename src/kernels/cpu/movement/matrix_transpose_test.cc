#include "kernels/cpu/movement/matrix_transpose.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace plimsoll::kernels::cpu {
namespace matrix_transpose_test {

// Few rows with nothing between them, more of them, and some of a larger matrix.
TEST(TransposeWordsTest, EveryElementLandsInItsRow) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 9}) {
    for (const int64_t columns : {0, 1, 3, 4, 7, 8, 15, 16, 31, 70}) {
      for (const int64_t apart : {int64_t{0}, int64_t{3}}) {
        const int64_t from_stride = rows + apart;
        const int64_t to_stride = columns + apart;
        std::vector<uint32_t> from(static_cast<size_t>(from_stride * columns));
        std::iota(from.begin(), from.end(), 1);
        std::vector<uint32_t> to(static_cast<size_t>(to_stride * rows));
        std::vector<uint32_t> expected = to;
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            expected[static_cast<size_t>(r * to_stride + c)] =
                from[static_cast<size_t>(r + c * from_stride)];
          }
        }
        TransposeWords(from.data(), from_stride, to.data(), to_stride, rows, columns);
        EXPECT_EQ(to, expected) << rows << " x " << columns;
      }
    }
  }
}

}  // namespace matrix_transpose_test
}  // namespace plimsoll::kernels::cpu
