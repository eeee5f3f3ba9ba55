#include "kernels/cpu/movement/matrix_transpose.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/movement/matrix_transpose.cc"
#include <hwy/foreach_target.h>
// Highway wants its own header behind the list of targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void TransposeFour(const uint32_t* from, int64_t from_stride, uint32_t* to,
                              int64_t to_stride) {
  TransposeMatrix(from, from_stride, to, to_stride, 4, 4);
}

#else

// Sixteen words: four runs of four read, four runs of four written.
HWY_INLINE void TransposeFour(const uint32_t* from, int64_t from_stride, uint32_t* to,
                              int64_t to_stride) {
  const hn::FixedTag<uint32_t, 4> words;
  const hn::FixedTag<uint64_t, 2> pairs;
  const auto a = hn::LoadU(words, from);
  const auto b = hn::LoadU(words, from + from_stride);
  const auto c = hn::LoadU(words, from + 2 * from_stride);
  const auto d = hn::LoadU(words, from + 3 * from_stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(words, a, b));
  const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(words, a, b));
  const auto cd_low = hn::BitCast(pairs, hn::InterleaveLower(words, c, d));
  const auto cd_high = hn::BitCast(pairs, hn::InterleaveUpper(words, c, d));
  hn::StoreU(hn::BitCast(words, hn::InterleaveLower(pairs, ab_low, cd_low)), words, to);
  hn::StoreU(hn::BitCast(words, hn::InterleaveUpper(pairs, ab_low, cd_low)), words, to + to_stride);
  hn::StoreU(hn::BitCast(words, hn::InterleaveLower(pairs, ab_high, cd_high)), words,
             to + 2 * to_stride);
  hn::StoreU(hn::BitCast(words, hn::InterleaveUpper(pairs, ab_high, cd_high)), words,
             to + 3 * to_stride);
}

#endif

// `rows` and `columns` are multiples of four.
void TransposeFours(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride,
                    int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 16;  // words in a cache line
  for (int64_t r = 0; r < rows; r += kBlock) {
    const int64_t rows_end = r + kBlock < rows ? r + kBlock : rows;
    for (int64_t c = 0; c < columns; c += 4) {
      for (int64_t i = r; i < rows_end; i += 4) {
        TransposeFour(from + i + c * from_stride, from_stride, to + i * to_stride + c, to_stride);
      }
    }
  }
}

// Two or three rows of which nothing else lies between: as many columns as fill vectors of kLanes,
// or fewer lanes behind them. Gives how many columns were moved.
template <size_t kLanes>
HWY_INLINE int64_t TakeApart([[maybe_unused]] const uint32_t* from, [[maybe_unused]] uint32_t* to,
                             [[maybe_unused]] int64_t to_stride, [[maybe_unused]] int64_t rows,
                             [[maybe_unused]] int64_t columns) {
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no vectors that interleave
  const hn::CappedTag<uint32_t, kLanes> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; c + lanes <= columns; c += lanes) {
    auto a = hn::Zero(d), b = a, last = a;
    if (rows == 2) {
      hn::LoadInterleaved2(d, from + 2 * c, a, b);
    } else {
      hn::LoadInterleaved3(d, from + 3 * c, a, b, last);
      hn::StoreU(last, d, to + 2 * to_stride + c);
    }
    hn::StoreU(a, d, to + c);
    hn::StoreU(b, d, to + to_stride + c);
  }
  if constexpr (kLanes > 4) {
    c += TakeApart<kLanes / 2>(from + rows * c, to + c, to_stride, rows, columns - c);
  }
#endif
  return c;
}

int64_t TakeRowsApart(const uint32_t* from, uint32_t* to, int64_t to_stride, int64_t rows,
                      int64_t columns) {
  return TakeApart<16>(from, to, to_stride, rows, columns);
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(TransposeFours);
HWY_EXPORT(TakeRowsApart);

void TransposeWords(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride,
                    int64_t rows, int64_t columns) {
  if (from_stride == rows && (rows == 2 || rows == 3)) {
    const int64_t done = HWY_DYNAMIC_DISPATCH(TakeRowsApart)(from, to, to_stride, rows, columns);
    return TransposeMatrix(from + done * rows, rows, to + done, to_stride, rows, columns - done);
  }
  const int64_t full_rows = rows - rows % 4;
  const int64_t full_columns = columns - columns % 4;
  if (full_rows > 0 && full_columns > 0) {
    HWY_DYNAMIC_DISPATCH(TransposeFours)
    (from, from_stride, to, to_stride, full_rows, full_columns);
  }
  TransposeMatrix(from + full_columns * from_stride, from_stride, to + full_columns, to_stride,
                  full_rows, columns - full_columns);
  TransposeMatrix(from + full_rows, from_stride, to + full_rows * to_stride, to_stride,
                  rows - full_rows, columns);
}

}  // namespace plimsoll::kernels::cpu
#endif
