#pragma once

#include <algorithm>
#include <array>

#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/vector/arg_rows.h"

// Where the largest or smallest element of each lane of an axis lies.
namespace plimsoll::kernels::cpu {

inline constexpr int64_t kMostArgPlaces = int64_t{1} << 30;  // of an axis

// Rows too short for vectors of their own: several of them become columns.
inline constexpr int64_t kShortArgRow = 64;
inline constexpr int64_t kArgRowsTogether = 64;

template <typename T>
void ArgOfShortRows(const T* from, int64_t length, ArgOrder order, int64_t begin, int64_t end,
                    int64_t* to) {
  alignas(64) std::array<T, kShortArgRow * kArgRowsTogether> columns;
  for (int64_t first = begin; first < end; first += kArgRowsTogether) {
    const int64_t count = std::min(kArgRowsTogether, end - first);
    if constexpr (sizeof(T) == sizeof(uint32_t)) {
      TransposeWords(reinterpret_cast<const uint32_t*>(from + first * length), length,
                     reinterpret_cast<uint32_t*>(columns.data()), kArgRowsTogether, length, count);
    } else {
      TransposeMatrix(from + first * length, length, columns.data(), kArgRowsTogether, length,
                      count);
    }
    ArgOfColumns(columns.data(), kArgRowsTogether, length, count, order, to + first - begin);
  }
}

// Of lanes [begin, end), which may begin and end within an image of neighbouring columns.
template <typename T>
void ArgOfLanes(const T* from, const AxisSplit& split, ArgOrder order, int64_t begin, int64_t end,
                int64_t* to) {
  if (split.inner == 1 && split.length <= kShortArgRow) {
    return ArgOfShortRows(from, split.length, order, begin, end, to);
  }
  for (int64_t lane = begin; lane < end;) {
    const T* const first =
        from + lane / split.inner * split.length * split.inner + lane % split.inner;
    const int64_t count = std::min(end - lane, split.inner - lane % split.inner);
    if (split.inner == 1) {
      to[lane - begin] = ArgOfRow(first, split.length, order);
    } else {
      ArgOfColumns(first, split.inner, split.length, count, order, to + lane - begin);
    }
    lane += count;
  }
}

}  // namespace plimsoll::kernels::cpu
