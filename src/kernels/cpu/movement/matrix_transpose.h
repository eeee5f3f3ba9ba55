#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace plimsoll::kernels::cpu {

// One element from a place that need not be aligned: constants lie in a file as they may.
template <typename T>
void MoveElement(const T* from, T* to) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    std::memcpy(to, from, sizeof(T));
  } else {
    *to = *from;
  }
}

// Moves a matrix whose columns are contiguous (element (r, c) at from[r + c * from_stride]) to one
// whose rows are (to[r * to_stride + c]), block by block so that both sides stay in cache.
template <typename T>
void TransposeMatrix(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows,
                     int64_t columns) {
  constexpr int64_t kBlock = 16;
  for (int64_t r = 0; r < rows; r += kBlock) {
    const int64_t rows_end = r + kBlock < rows ? r + kBlock : rows;
    for (int64_t c = 0; c < columns; c += kBlock) {
      const int64_t columns_end = c + kBlock < columns ? c + kBlock : columns;
      for (int64_t i = r; i < rows_end; ++i) {
        for (int64_t j = c; j < columns_end; ++j) {
          MoveElement(from + i + j * from_stride, to + i * to_stride + j);
        }
      }
    }
  }
}

// The same for elements of four bytes, four by four in registers.
void TransposeWords(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride,
                    int64_t rows, int64_t columns);

}  // namespace plimsoll::kernels::cpu
