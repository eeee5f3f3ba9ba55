#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {

// A batch of matrix products by numpy's rule, with every stride worked out. All are in elements;
// the results lie one behind the other.
struct ProductShape {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  int64_t a_row_stride = 0;
  int64_t a_depth_stride = 0;
  int64_t b_depth_stride = 0;
  int64_t b_column_stride = 0;
  std::vector<int64_t> a_matrices;  // of each result: which matrix of A it takes
  std::vector<int64_t> b_matrices;
  int64_t b_count = 0;  // matrices of B

  int64_t a_size() const { return rows * depth; }
  int64_t b_size() const { return depth * columns; }
  int64_t c_size() const { return rows * columns; }
};

// The products of tensors a and b; a vector counts as a row on the left, as a column on the right.
// `transpose_a` and `transpose_b` exchange the last two axes. Where all results share one B and
// follow each other in A, they become one product with many rows.
Result<ProductShape> ReadProduct(const KernelSite& site, const Dims& a, const Dims& b,
                                 bool transpose_a = false, bool transpose_b = false);

// Of doubles, over the widest vectors of the machine: c = a x b, or c += a x b. Each element adds
// up its products in one order, however many threads there are. Allocates nothing.
void MultiplyDoubles(const ProductShape& shape, const double* a, const double* b, double* c,
                     bool onto);

// By definition, for element types that have no fast implementation: c = a x b, or c += a x b where
// it goes `onto` what is there. Integers wrap.
template <typename T>
void MultiplyMatrices(const ProductShape& shape, const T* a, const T* b, T* c, bool onto = false) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    using Word = std::make_unsigned_t<T>;
    MultiplyMatrices(shape, reinterpret_cast<const Word*>(a), reinterpret_cast<const Word*>(b),
                     reinterpret_cast<Word*>(c), onto);
    return;
  }
  if constexpr (std::is_same_v<T, double>) return MultiplyDoubles(shape, a, b, c, onto);
  const auto batch = static_cast<int64_t>(shape.a_matrices.size());
  ParallelFor(batch * shape.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto matrix = static_cast<size_t>(row / shape.rows);
      const T* const left =
          a + shape.a_matrices[matrix] * shape.a_size() + row % shape.rows * shape.a_row_stride;
      const T* const right = b + shape.b_matrices[matrix] * shape.b_size();
      T* const to = c + row * shape.columns;
      if (!onto) std::fill(to, to + shape.columns, T(0));
      for (int64_t d = 0; d < shape.depth; ++d) {
        const T factor = left[d * shape.a_depth_stride];
        const T* const from = right + d * shape.b_depth_stride;
        for (int64_t column = 0; column < shape.columns; ++column) {
          to[column] += factor * from[column * shape.b_column_stride];
        }
      }
    }
  });
}

}  // namespace plimsoll::kernels::cpu
