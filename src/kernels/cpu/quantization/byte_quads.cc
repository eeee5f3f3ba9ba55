#include "kernels/cpu/quantization/byte_quads.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantization/byte_quads.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/quantization/byte_sums-inl.h"
#include "kernels/cpu/quantization/vnni_sums-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// As many sums as registers hold besides a group of columns and what a product needs.
constexpr int kQuadRows = kVectors >= 4 ? 2 : 8 / kVectors;
constexpr int64_t kBlockRows = 48;

// AddQuads of two quads, whose products 16 bits add up.
HWY_INLINE Sums AddQuadPair(Sums sum, Sums x, Sums w, Sums next_x, Sums next_w) {
#if HWY_TARGET == HWY_AVX2
  const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(x.raw, w.raw),
                                         _mm256_maddubs_epi16(next_x.raw, next_w.raw));
  return Sums{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))};
#elif HWY_TARGET == HWY_AVX3
  const __m512i pairs = _mm512_add_epi16(_mm512_maddubs_epi16(x.raw, w.raw),
                                         _mm512_maddubs_epi16(next_x.raw, next_w.raw));
  return Sums{_mm512_add_epi32(sum.raw, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
#else
  return AddQuads(AddQuads(sum, x, w), next_x, next_w);
#endif
}

// Adds what is missing of a row's weights: columns are bytes of a group.
HWY_INLINE void AddRowRests(const QuadWeights& weights, int64_t row, const int32_t* group,
                            Sums* sums) {
  for (int32_t i = weights.first_rest[row]; i < weights.first_rest[row + 1]; ++i) {
    const WeightRest rest = weights.rests[i];
    const Sums value = hn::Set(kSums, static_cast<int32_t>(rest.value) & 0xffff);
    const int32_t* const from = group + rest.depth / 4 * kGroupColumns;
    const int bits = rest.depth % 4 * 8;
    for (int v = 0; v < kVectors; ++v) {
      const Sums bytes = hn::And(hn::ShiftRightSame(hn::LoadU(kSums, from + v * kLanes), bits),
                                 hn::Set(kSums, 0xff));
      sums[v] = AddProducts(sums[v], bytes, value);
    }
  }
}

// The same for the columns of a group: the row is bytes.
HWY_NOINLINE void AddColumnRests(const QuadWeights& weights, int64_t column, int64_t columns,
                                 const int32_t* row_quads, int32_t* sums) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(row_quads);
  for (int64_t c = 0; c < columns; ++c) {
    for (int32_t i = weights.first_rest[column + c]; i < weights.first_rest[column + c + 1]; ++i) {
      sums[c] += weights.rests[i].value * bytes[weights.rests[i].depth];
    }
  }
}

// What the two operands of a product are, and who adds products of quads up: the last two forms are
// for processors that have an instruction for it.
enum class QuadForm {
  kWeightRows,
  kWeightRowsTwoSteps,
  kWeightColumns,
  kWeightRowsVnni,
  kWeightColumnsVnni
};
constexpr bool HasWeightColumns(QuadForm form) {
  return form == QuadForm::kWeightColumns || form == QuadForm::kWeightColumnsVnni;
}

constexpr bool SumsByVnni(QuadForm form) {
  return form == QuadForm::kWeightRowsVnni || form == QuadForm::kWeightColumnsVnni;
}

template <QuadForm kForm>
HWY_INLINE Sums AddFormQuads(Sums sum, Sums row, Sums column) {
  return HasWeightColumns(kForm) ? AddQuads(sum, row, column) : AddQuads(sum, column, row);
}

// One quad of each row and a group of columns.
template <QuadForm kForm, int kRows, int kVectorsNow>
HWY_INLINE void AddQuadStep(const int32_t* row_quads, int64_t row_stride, const int32_t* group,
                            Sums (&sums)[kRows][kVectors]) {
  Sums columns[kVectorsNow];
#pragma GCC unroll 4
  for (int v = 0; v < kVectorsNow; ++v) columns[v] = hn::LoadU(kSums, group + v * kLanes);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const Sums quad = hn::Set(kSums, row_quads[r * row_stride]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectorsNow; ++v) {
      sums[r][v] = AddFormQuads<kForm>(sums[r][v], quad, columns[v]);
    }
  }
}

// Two quads of each row, which are weights, and a group of columns.
template <int kRows, int kVectorsNow>
HWY_INLINE void AddTwoQuadSteps(const int32_t* row_quads, int64_t row_stride, const int32_t* group,
                                Sums (&sums)[kRows][kVectors]) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectorsNow; ++v) {
    const Sums first = hn::LoadU(kSums, group + v * kLanes);
    const Sums second = hn::LoadU(kSums, group + kGroupColumns + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      sums[r][v] = AddQuadPair(sums[r][v], first, hn::Set(kSums, row_quads[r * row_stride]), second,
                               hn::Set(kSums, row_quads[r * row_stride + 1]));
    }
  }
}

// The sums of a tile's rows with one group, of which `columns` columns count.
template <PairFinish::Kind kKind, int kRows, QuadForm kForm>
HWY_INLINE void FinishRows(Sums (&sums)[kRows][kVectors], int64_t row, int64_t column,
                           int64_t columns, int64_t quads, const int32_t* row_quads,
                           const int32_t* group, const QuadWeights& weights,
                           const PairFinish& finish) {
  if constexpr (!HasWeightColumns(kForm)) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      AddRowRests(weights, row + r, group, sums[r]);
      StoreRow<kKind, false>(sums[r], row + r, column, columns, finish);
    }
    return;
  }
  const bool rests = weights.first_rest[column] != weights.first_rest[column + columns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    if (rests) {
      HWY_ALIGN int32_t plain[kGroupColumns];
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], kSums, plain + v * kLanes);
      AddColumnRests(weights, column, columns, row_quads + r * quads, plain);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::LoadU(kSums, plain + v * kLanes);
    }
    StoreRow<kKind, true>(sums[r], row + r, column, columns, finish);
  }
}

// The first `kVectorsNow` vectors of each group; `columns` are all in them.
template <PairFinish::Kind kKind, int kRows, QuadForm kForm, int kVectorsNow, int kGroups>
HWY_INLINE void QuadTile(int64_t row, int64_t column, int64_t columns, int64_t quads,
                         const int32_t* row_quads, const int32_t* group, const QuadWeights& weights,
                         const int32_t* row_bias, const PairFinish& finish) {
  Sums sums[kGroups][kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const Sums bias = row_bias == nullptr ? hn::Zero(kSums) : hn::Set(kSums, row_bias[row + r]);
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[g][r][v] = bias;
    }
  }
  if constexpr (SumsByVnni(kForm)) {
#if HWY_TARGET == HWY_AVX3
    SumQuadsByVnni<kRows, kGroups, HasWeightColumns(kForm)>(row_quads, quads, group,
                                                            &sums[0][0][0].raw);
#endif
  } else {
    int64_t q = 0;
    if constexpr (kForm == QuadForm::kWeightRowsTwoSteps) {
      for (; q + 2 <= quads; q += 2) {
        AddTwoQuadSteps<kRows, kVectorsNow>(row_quads + q, quads, group + q * kGroupColumns,
                                            sums[0]);
      }
    }
    for (; q < quads; ++q) {
      AddQuadStep<kForm, kRows, kVectorsNow>(row_quads + q, quads, group + q * kGroupColumns,
                                             sums[0]);
    }
  }
#if HWY_TARGET == HWY_AVX3
  if constexpr (kForm == QuadForm::kWeightRowsVnni && ElementSize(kKind) == 1) {
    if (columns == kGroups * kGroupColumns && finish.scale_rests == nullptr &&
        weights.first_rest[row] == weights.first_rest[row + kRows]) {
      return StoreByteTile<kKind == PairFinish::Kind::kInt8, kRows, kGroups>(&sums[0][0][0].raw,
                                                                             row, column, finish);
    }
  }
#endif
#pragma GCC unroll 2
  for (int g = 0; g < kGroups; ++g) {
    FinishRows<kKind, kRows, kForm>(sums[g], row, column + g * kGroupColumns,
                                    std::min(kGroupColumns, columns - g * kGroupColumns), quads,
                                    row_quads, group + g * quads * kGroupColumns, weights, finish);
  }
}

// The largest tile of kRows, half of them and so on that `rows` fill; how many rows that are.
template <PairFinish::Kind kKind, int kRows, QuadForm kForm, int kGroups>
HWY_INLINE int64_t QuadTileOf(int64_t rows, int64_t row, int64_t column, int64_t columns,
                              int64_t quads, const int32_t* row_quads, const int32_t* group,
                              const QuadWeights& weights, const int32_t* row_bias,
                              const PairFinish& finish) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      return QuadTileOf<kKind, kRows / 2, kForm, kGroups>(
          rows, row, column, columns, quads, row_quads, group, weights, row_bias, finish);
    }
  }
  if (kVectors == 2 && columns <= kLanes) {
    QuadTile<kKind, kRows, kForm, 1, kGroups>(row, column, columns, quads, row_quads, group,
                                              weights, row_bias, finish);
  } else {
    QuadTile<kKind, kRows, kForm, kVectors, kGroups>(row, column, columns, quads, row_quads, group,
                                                     weights, row_bias, finish);
  }
  return kRows;
}

#if HWY_TARGET == HWY_AVX3
// So many columns behind whole groups are summed up along their depth, for which lanes of a group
// would mostly be idle.
constexpr int64_t kFewColumns = 8;
constexpr int64_t kDepthAtOnce = 1024;  // quads

// The last columns, at most kFewColumns, and at most kBlockRows rows, which are weights.
template <PairFinish::Kind kKind>
HWY_INLINE void MultiplyFewColumns(int64_t row, int64_t end, int64_t column, int64_t columns,
                                   int64_t quads, const int32_t* row_quads, const int32_t* group,
                                   const QuadWeights& weights, const int32_t* row_bias,
                                   const PairFinish& finish) {
  HWY_ALIGN int32_t sums[kBlockRows][kGroupColumns];
  for (int64_t r = row; r < end; ++r) {
    std::fill_n(sums[r - row], kGroupColumns, row_bias == nullptr ? 0 : row_bias[r]);
  }
  HWY_ALIGN int32_t column_quads[kDepthAtOnce];
  for (int64_t first = 0; first < quads; first += kDepthAtOnce) {
    const int64_t count = std::min(kDepthAtOnce, quads - first);
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t q = 0; q < count; ++q) column_quads[q] = group[(first + q) * kGroupColumns + c];
      int64_t r = row;
      for (; r + 4 <= end; r += 4) {
        SumColumnByVnni<4>(row_quads + r * quads + first, quads, column_quads, count,
                           &sums[r - row][c], kGroupColumns);
      }
      for (; r < end; ++r) {
        SumColumnByVnni<1>(row_quads + r * quads + first, quads, column_quads, count,
                           &sums[r - row][c], kGroupColumns);
      }
    }
  }
  for (int64_t r = row; r < end; ++r) {
    Sums sum = hn::Load(kSums, sums[r - row]);
    AddRowRests(weights, r, group, &sum);
    StoreRow<kKind, false>(&sum, r, column, columns, finish);
  }
}
#endif

// The columns of `kGroups` groups and rows [row, end).
template <PairFinish::Kind kKind, QuadForm kForm, int kGroups>
HWY_INLINE void MultiplyGroups(int64_t row, int64_t end, int64_t column, int64_t columns,
                               int64_t quads, const int32_t* row_quads, const int32_t* groups,
                               const QuadWeights& weights, const int32_t* row_bias,
                               const PairFinish& finish) {
  while (row < end) {
    row += QuadTileOf<kKind, kQuadRows, kForm, kGroups>(
        end - row, row, column, std::min(kGroups * kGroupColumns, columns - column), quads,
        row_quads + row * quads, groups + column * quads, weights, row_bias, finish);
  }
}

// Columns of a group meet some rows before the next come. VNNI's product of one instruction waits
// for the loads of its operands, of which two groups at once share those of the rows.
template <PairFinish::Kind kKind, QuadForm kForm>
HWY_INLINE void MultiplyQuadsOf(int64_t rows, int64_t columns, int64_t quads,
                                const int32_t* row_quads, const int32_t* groups,
                                const QuadWeights weights, PairFinish finish) {
  // A row's sums begin with its bias.
  const int32_t* const row_bias = HasWeightColumns(kForm) ? nullptr : finish.bias;
  if (!HasWeightColumns(kForm)) finish.bias = nullptr;
  for (int64_t block = 0; block < rows; block += kBlockRows) {
    const int64_t block_end = std::min(rows, block + kBlockRows);
    int64_t column = 0;
#if HWY_TARGET == HWY_AVX3
    if constexpr (SumsByVnni(kForm)) {
      constexpr int64_t few = HasWeightColumns(kForm) ? 0 : kFewColumns;
      for (; columns - column > kGroupColumns + few; column += 2 * kGroupColumns) {
        MultiplyGroups<kKind, kForm, 2>(block, block_end, column, columns, quads, row_quads, groups,
                                        weights, row_bias, finish);
      }
      if (columns - column >= kGroupColumns) {
        MultiplyGroups<kKind, kForm, 1>(block, block_end, column, columns, quads, row_quads, groups,
                                        weights, row_bias, finish);
        column += kGroupColumns;
      }
      if (column < columns && columns - column <= few) {
        MultiplyFewColumns<kKind>(block, block_end, column, columns - column, quads, row_quads,
                                  groups + column * quads, weights, row_bias, finish);
        continue;
      }
    }
#endif
    for (; column < columns; column += kGroupColumns) {
      MultiplyGroups<kKind, kForm, 1>(block, block_end, column, columns, quads, row_quads, groups,
                                      weights, row_bias, finish);
    }
  }
}

template <QuadForm kForm>
HWY_INLINE void MultiplyQuads(int64_t rows, int64_t columns, int64_t quads,
                              const int32_t* row_quads, const int32_t* groups,
                              const QuadWeights& weights, const PairFinish& finish) {
  using Kind = PairFinish::Kind;
  switch (finish.kind) {
    case Kind::kInt32:
      return MultiplyQuadsOf<Kind::kInt32, kForm>(rows, columns, quads, row_quads, groups, weights,
                                                  finish);
    case Kind::kFloat32:
      return MultiplyQuadsOf<Kind::kFloat32, kForm>(rows, columns, quads, row_quads, groups,
                                                    weights, finish);
    case Kind::kUint8:
      return MultiplyQuadsOf<Kind::kUint8, kForm>(rows, columns, quads, row_quads, groups, weights,
                                                  finish);
    case Kind::kInt8:
      return MultiplyQuadsOf<Kind::kInt8, kForm>(rows, columns, quads, row_quads, groups, weights,
                                                 finish);
  }
}

bool SumsWide() { return HasVnni(); }

void WeightRows(int64_t rows, int64_t columns, int64_t quads, const QuadWeights& weights,
                const int32_t* groups, const PairFinish& finish) {
#if HWY_TARGET == HWY_AVX3
  if (HasVnni()) {
    return MultiplyQuads<QuadForm::kWeightRowsVnni>(rows, columns, quads, weights.quads, groups,
                                                    weights, finish);
  }
#endif
  if (weights.steps == QuadSteps::kTwo) {
    MultiplyQuads<QuadForm::kWeightRowsTwoSteps>(rows, columns, quads, weights.quads, groups,
                                                 weights, finish);
  } else {
    MultiplyQuads<QuadForm::kWeightRows>(rows, columns, quads, weights.quads, groups, weights,
                                         finish);
  }
}
void WeightColumns(int64_t rows, int64_t columns, int64_t quads, const int32_t* row_quads,
                   const QuadWeights& weights, const PairFinish& finish) {
#if HWY_TARGET == HWY_AVX3
  if (HasVnni()) {
    return MultiplyQuads<QuadForm::kWeightColumnsVnni>(rows, columns, quads, row_quads,
                                                       weights.quads, weights, finish);
  }
#endif
  MultiplyQuads<QuadForm::kWeightColumns>(rows, columns, quads, row_quads, weights.quads, weights,
                                          finish);
}

int64_t FindUnbounded(const int16_t* elements, int64_t from, int64_t count, QuadSteps steps) {
#if HWY_TARGET == HWY_SCALAR
  (void)elements, (void)count, (void)steps;
  return from;
#else
  const hn::Repartition<int16_t, decltype(kSums)> halves;
  constexpr int64_t kAtOnce = 2 * kLanes;
  const Sums ones = hn::Set(kSums, 0x00010001);
  const Sums most = hn::Set(kSums, kMostOfPair);
  for (int64_t i = from / kAtOnce * kAtOnce; i < count; i += kAtOnce) {
    const auto some = hn::LoadU(halves, elements + i);
    if (steps == QuadSteps::kWide) {
      const bool bytes = hn::AllFalse(halves, hn::Gt(some, hn::Set(halves, 127))) &&
                         hn::AllFalse(halves, hn::Lt(some, hn::Set(halves, -128)));
      if (!bytes) return std::max(i, from);
      continue;
    }
    const auto sum = [&](auto part) {
      const Sums pairs = AddProducts(hn::Zero(kSums), hn::BitCast(kSums, part), ones);
      // Halves of 16 bytes are quads, the first and the second of two.
      return steps == QuadSteps::kOne ? pairs : hn::Add(pairs, hn::Shuffle1032(pairs));
    };
    const Sums above = sum(hn::Max(some, hn::Zero(halves)));
    const Sums below = hn::Sub(hn::Zero(kSums), sum(hn::Min(some, hn::Zero(halves))));
    const bool bounded = hn::AllFalse(kSums, hn::Gt(hn::Max(above, below), most)) &&
                         hn::AllFalse(halves, hn::Gt(some, hn::Set(halves, 127)));
    if (!bounded) return std::max(i, from);
  }
  return count;
#endif
}

void Less(const int32_t* bias, const int32_t* sums, int64_t count, int32_t factor,
          int32_t* biases) {
  const Sums times = hn::Set(kSums, factor);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Sums from = bias == nullptr ? hn::Zero(kSums) : hn::LoadU(kSums, bias + i);
    hn::StoreU(hn::Sub(from, hn::Mul(times, hn::LoadU(kSums, sums + i))), kSums, biases + i);
  }
  for (; i < count; ++i) biases[i] = (bias == nullptr ? 0 : bias[i]) - factor * sums[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(FindUnbounded);
HWY_EXPORT(Less);
HWY_EXPORT(SumsWide);
HWY_EXPORT(WeightRows);
HWY_EXPORT(WeightColumns);

bool SumsQuadsWide() { return HWY_DYNAMIC_DISPATCH(SumsWide)(); }

int64_t FirstUnbounded(const int16_t* elements, int64_t from, int64_t count, QuadSteps steps) {
  return HWY_DYNAMIC_DISPATCH(FindUnbounded)(elements, from, count, steps);
}

void LessSums(const int32_t* bias, const int32_t* sums, int64_t count, int32_t factor,
              int32_t* biases) {
  HWY_DYNAMIC_DISPATCH(Less)(bias, sums, count, factor, biases);
}

void MultiplyQuadRows(int64_t rows, int64_t columns, int64_t quads, const QuadWeights& weights,
                      const int32_t* groups, const PairFinish& finish) {
  HWY_DYNAMIC_DISPATCH(WeightRows)(rows, columns, quads, weights, groups, finish);
}

void MultiplyQuadColumns(int64_t rows, int64_t columns, int64_t quads, const int32_t* row_quads,
                         const QuadWeights& weights, const PairFinish& finish) {
  HWY_DYNAMIC_DISPATCH(WeightColumns)(rows, columns, quads, row_quads, weights, finish);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
