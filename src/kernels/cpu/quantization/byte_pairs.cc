#include "kernels/cpu/quantization/byte_pairs.h"

#include <algorithm>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantization/byte_pairs.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/quantization/byte_sums-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// As many sums as registers hold, with one group of columns and one pair of a row in the others.
constexpr int kMostRows = kVectors >= 8 ? 1 : 8 / kVectors;

// A piece of the depth that is worked on while its columns stay in the first cache, and sums of
// earlier pieces, which lie at `partial`, a group of columns for each row.
struct DepthPiece {
  int64_t first = 0;  // pairs
  int64_t count = 0;
  bool begins = true;
  bool ends = true;
  int32_t* partial = nullptr;
};
constexpr int64_t kPiecePairs = 256;
constexpr int64_t kPieceRows = 48;

template <PairFinish::Kind kKind, int kRows>
HWY_INLINE void PairTile(int64_t row, int64_t column, int64_t columns, const DepthPiece& piece,
                         const int32_t* row_pairs, int64_t row_stride, const int32_t* group,
                         const PairFinish& finish) {
  Sums sums[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(kSums);
  }
  if (!piece.begins) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::LoadU(kSums, piece.partial + r * kGroupColumns + v * kLanes);
      }
    }
  }
  const int64_t end = piece.first + piece.count;
  for (int64_t p = piece.first; p < end; ++p) {
    Sums columns_now[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      columns_now[v] = hn::LoadU(kSums, group + p * kGroupColumns + v * kLanes);
    }
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const Sums pair = hn::Set(kSums, row_pairs[r * row_stride + p]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = AddProducts(sums[r][v], pair, columns_now[v]);
      }
    }
  }
  if (piece.ends) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      if (finish.by_columns) {
        StoreRow<kKind, true>(sums[r], row + r, column, columns, finish);
      } else {
        StoreRow<kKind, false>(sums[r], row + r, column, columns, finish);
      }
    }
    return;
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], kSums, piece.partial + r * kGroupColumns + v * kLanes);
    }
  }
}

// The largest tile of kRows, half of them and so on that `rows` fill; how many rows that are.
template <PairFinish::Kind kKind, int kRows>
HWY_INLINE int64_t PairTileOf(int64_t rows, int64_t row, int64_t column, int64_t columns,
                              const DepthPiece& piece, const int32_t* row_pairs, int64_t row_stride,
                              const int32_t* group, const PairFinish& finish) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      return PairTileOf<kKind, kRows / 2>(rows, row, column, columns, piece, row_pairs, row_stride,
                                          group, finish);
    }
  }
  PairTile<kKind, kRows>(row, column, columns, piece, row_pairs, row_stride, group, finish);
  return kRows;
}

// A piece of a group's columns meets some rows before the next comes.
template <PairFinish::Kind kKind>
HWY_INLINE void MultiplyOf(int64_t rows, int64_t columns, int64_t pairs, const int32_t* row_pairs,
                           int64_t row_stride, const int32_t* groups, const PairFinish& finish) {
  HWY_ALIGN int32_t partial[kPieceRows * kGroupColumns];
  for (int64_t block = 0; block < rows; block += kPieceRows) {
    const int64_t block_end = std::min(rows, block + kPieceRows);
    for (int64_t column = 0; column < columns; column += kGroupColumns) {
      for (int64_t first = 0; first == 0 || first < pairs; first += kPiecePairs) {
        DepthPiece piece{.first = first,
                         .count = std::min(kPiecePairs, pairs - first),
                         .begins = first == 0,
                         .ends = first + kPiecePairs >= pairs};
        for (int64_t row = block; row < block_end;) {
          piece.partial = partial + (row - block) * kGroupColumns;
          row += PairTileOf<kKind, kMostRows>(
              block_end - row, row, column, std::min(kGroupColumns, columns - column), piece,
              row_pairs + row * row_stride, row_stride, groups + column * pairs, finish);
        }
      }
    }
  }
}

void MultiplyRows(int64_t rows, int64_t columns, int64_t pairs, const int32_t* row_pairs,
                  int64_t row_stride, const int32_t* groups, const PairFinish& finish) {
  switch (finish.kind) {
    case PairFinish::Kind::kInt32:
      return MultiplyOf<PairFinish::Kind::kInt32>(rows, columns, pairs, row_pairs, row_stride,
                                                  groups, finish);
    case PairFinish::Kind::kFloat32:
      return MultiplyOf<PairFinish::Kind::kFloat32>(rows, columns, pairs, row_pairs, row_stride,
                                                    groups, finish);
    case PairFinish::Kind::kUint8:
      return MultiplyOf<PairFinish::Kind::kUint8>(rows, columns, pairs, row_pairs, row_stride,
                                                  groups, finish);
    case PairFinish::Kind::kInt8:
      return MultiplyOf<PairFinish::Kind::kInt8>(rows, columns, pairs, row_pairs, row_stride,
                                                 groups, finish);
  }
}

template <PairFinish::Kind kKind, bool kByColumns>
HWY_INLINE void FinishRow(const int32_t* sums, int64_t row, int64_t columns,
                          const PairFinish& finish) {
  const auto group = [&](const int32_t* from, int64_t column, int64_t count) {
    Sums vectors[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) vectors[v] = hn::LoadU(kSums, from + v * kLanes);
    StoreRow<kKind, kByColumns>(vectors, row, column, count, finish);
  };
  int64_t column = 0;
  for (; column + kGroupColumns <= columns; column += kGroupColumns) {
    group(sums + column, column, kGroupColumns);
  }
  if (column == columns) return;
  HWY_ALIGN int32_t rest[kGroupColumns] = {};
  std::copy_n(sums + column, columns - column, rest);
  group(rest, column, columns - column);
}

template <PairFinish::Kind kKind>
HWY_INLINE void FinishOf(const int32_t* sums, int64_t stride, int64_t rows, int64_t columns,
                         const PairFinish& finish) {
  for (int64_t row = 0; row < rows; ++row) {
    if (finish.by_columns) {
      FinishRow<kKind, true>(sums + row * stride, row, columns, finish);
    } else {
      FinishRow<kKind, false>(sums + row * stride, row, columns, finish);
    }
  }
}

void Finish(const int32_t* sums, int64_t stride, int64_t rows, int64_t columns,
            const PairFinish& given) {
  const PairFinish finish = given;
  switch (finish.kind) {
    case PairFinish::Kind::kInt32:
      return FinishOf<PairFinish::Kind::kInt32>(sums, stride, rows, columns, finish);
    case PairFinish::Kind::kFloat32:
      return FinishOf<PairFinish::Kind::kFloat32>(sums, stride, rows, columns, finish);
    case PairFinish::Kind::kUint8:
      return FinishOf<PairFinish::Kind::kUint8>(sums, stride, rows, columns, finish);
    case PairFinish::Kind::kInt8:
      return FinishOf<PairFinish::Kind::kInt8>(sums, stride, rows, columns, finish);
  }
}

// A byte as a 16-bit number less its zero point.
template <typename T>
HWY_INLINE void WidenAll(const T* from, int64_t count, int32_t zero, int32_t* pairs) {
  const hn::ScalableTag<int16_t> wide;
  const hn::Rebind<T, decltype(wide)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(wide));
  const auto less = hn::Set(wide, static_cast<int16_t>(zero));
  auto* to = reinterpret_cast<int16_t*>(pairs);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Sub(hn::PromoteTo(wide, hn::LoadU(narrow, from + i)), less), wide, to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<int16_t>(from[i] - zero);
  if (count % 2 != 0) to[count] = 0;
}

void WidenUnsigned(const uint8_t* from, int64_t count, int32_t zero, int32_t* pairs) {
  WidenAll(from, count, zero, pairs);
}
void WidenSigned(const int8_t* from, int64_t count, int32_t zero, int32_t* pairs) {
  WidenAll(from, count, zero, pairs);
}

template <typename T>
HWY_INLINE int32_t DotAll(const int32_t* row_pairs, const T* bytes, int64_t count, int32_t zero) {
  const auto* const row = reinterpret_cast<const int16_t*>(row_pairs);
  int64_t i = 0;
  int32_t sum = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Repartition<int16_t, decltype(kSums)> wide;
  const hn::Rebind<T, decltype(wide)> narrow;
  constexpr int64_t kAtOnce = 2 * kLanes;
  const auto less = hn::Set(wide, static_cast<int16_t>(zero));
  Sums totals = hn::Zero(kSums);
  for (; i + kAtOnce <= count; i += kAtOnce) {
    const auto some = hn::Sub(hn::PromoteTo(wide, hn::LoadU(narrow, bytes + i)), less);
    totals =
        AddProducts(totals, hn::BitCast(kSums, hn::LoadU(wide, row + i)), hn::BitCast(kSums, some));
  }
  sum = hn::GetLane(hn::SumOfLanes(kSums, totals));
#endif
  for (; i < count; ++i) sum += row[i] * (static_cast<int32_t>(bytes[i]) - zero);
  return sum;
}

int32_t DotUnsigned(const int32_t* row_pairs, const uint8_t* bytes, int64_t count, int32_t zero) {
  return DotAll(row_pairs, bytes, count, zero);
}
int32_t DotSigned(const int32_t* row_pairs, const int8_t* bytes, int64_t count, int32_t zero) {
  return DotAll(row_pairs, bytes, count, zero);
}

// Low halves are the first row's, high halves the second's.
template <typename T>
HWY_INLINE void PairGroup(const T* first, const T* second, int32_t zero, int32_t* pairs) {
  const hn::Rebind<T, decltype(kSums)> bytes;
  const Sums less = hn::Set(kSums, zero);
  const Sums low = hn::Set(kSums, 0xffff);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const Sums a = hn::Sub(hn::PromoteTo(kSums, hn::LoadU(bytes, first + v * kLanes)), less);
    Sums both = hn::And(a, low);
    if (second != nullptr) {
      const Sums b = hn::Sub(hn::PromoteTo(kSums, hn::LoadU(bytes, second + v * kLanes)), less);
      both = hn::Or(both, hn::ShiftLeft<16>(b));
    }
    hn::StoreU(both, kSums, pairs + v * kLanes);
  }
}

template <typename T>
HWY_INLINE void PairAll(const T* first, const T* second, int64_t count, int32_t zero,
                        int32_t* pairs, int64_t group_stride) {
  int64_t column = 0;
  for (; column + kGroupColumns <= count; column += kGroupColumns, pairs += group_stride) {
    PairGroup(first + column, second == nullptr ? nullptr : second + column, zero, pairs);
  }
  if (column == count) return;
  T rest[2][kGroupColumns];
  std::fill_n(rest[0], 2 * kGroupColumns, static_cast<T>(zero));
  std::copy_n(first + column, count - column, rest[0]);
  if (second != nullptr) std::copy_n(second + column, count - column, rest[1]);
  PairGroup(rest[0], second == nullptr ? nullptr : rest[1], zero, pairs);
}

void PairUnsigned(const uint8_t* first, const uint8_t* second, int64_t count, int32_t zero,
                  int32_t* pairs, int64_t group_stride) {
  PairAll(first, second, count, zero, pairs, group_stride);
}
void PairSigned(const int8_t* first, const int8_t* second, int64_t count, int32_t zero,
                int32_t* pairs, int64_t group_stride) {
  PairAll(first, second, count, zero, pairs, group_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(MultiplyRows);
HWY_EXPORT(WidenUnsigned);
HWY_EXPORT(WidenSigned);
HWY_EXPORT(PairUnsigned);
HWY_EXPORT(PairSigned);
HWY_EXPORT(DotUnsigned);
HWY_EXPORT(DotSigned);
HWY_EXPORT(Finish);

void WidenRow(const uint8_t* from, int64_t count, int32_t zero, int32_t* pairs) {
  HWY_DYNAMIC_DISPATCH(WidenUnsigned)(from, count, zero, pairs);
}
void WidenRow(const int8_t* from, int64_t count, int32_t zero, int32_t* pairs) {
  HWY_DYNAMIC_DISPATCH(WidenSigned)(from, count, zero, pairs);
}
void PairRows(const uint8_t* first, const uint8_t* second, int64_t count, int32_t zero,
              int32_t* pairs, int64_t group_stride) {
  HWY_DYNAMIC_DISPATCH(PairUnsigned)(first, second, count, zero, pairs, group_stride);
}
void PairRows(const int8_t* first, const int8_t* second, int64_t count, int32_t zero,
              int32_t* pairs, int64_t group_stride) {
  HWY_DYNAMIC_DISPATCH(PairSigned)(first, second, count, zero, pairs, group_stride);
}

void MultiplyPairs(int64_t rows, int64_t columns, int64_t pairs, const int32_t* row_pairs,
                   int64_t row_stride, const int32_t* groups, const PairFinish& finish) {
  HWY_DYNAMIC_DISPATCH(MultiplyRows)(rows, columns, pairs, row_pairs, row_stride, groups, finish);
}

int32_t DotPairs(const int32_t* row_pairs, const uint8_t* bytes, int64_t count, int32_t zero) {
  return HWY_DYNAMIC_DISPATCH(DotUnsigned)(row_pairs, bytes, count, zero);
}
int32_t DotPairs(const int32_t* row_pairs, const int8_t* bytes, int64_t count, int32_t zero) {
  return HWY_DYNAMIC_DISPATCH(DotSigned)(row_pairs, bytes, count, zero);
}

void FinishSums(const int32_t* sums, int64_t stride, int64_t rows, int64_t columns,
                const PairFinish& finish) {
  HWY_DYNAMIC_DISPATCH(Finish)(sums, stride, rows, columns, finish);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
