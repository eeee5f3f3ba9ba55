#include "kernels/cpu/quantization/byte_taps.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantization/byte_taps.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/quantization/byte_sums-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// What columns from `from` on see of a line, 16 bytes for each four of them: a vector of sums.
HWY_INLINE Sums LoadTaps(const uint8_t* from, int64_t stride) {
  const auto four = [&](int64_t column) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + column * stride));
  };
#if HWY_TARGET == HWY_AVX2
  return Sums{_mm256_inserti128_si256(_mm256_castsi128_si256(four(0)), four(4), 1)};
#else
  const __m512i half = _mm512_inserti32x4(_mm512_castsi128_si512(four(0)), four(4), 1);
  return Sums{_mm512_inserti32x4(_mm512_inserti32x4(half, four(8), 2), four(12), 3)};
#endif
}

HWY_INLINE Sums LoadOrder(const TapRows& rows) {
  const hn::Repartition<uint8_t, decltype(kSums)> bytes;
  return hn::BitCast(kSums, hn::LoadDup128(bytes, rows.order->data()));
}

template <bool kVnni>
HWY_INLINE void SumTapGroup(const TapRows& rows, Sums order, const uint8_t* line, Sums* sums) {
  Sums made[kVectors];
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) made[v] = hn::Zero(kSums);
  for (int64_t q = 0; q < rows.quads; ++q) {
    const Sums weights = hn::Set(kSums, rows.weights[q]);
    const uint8_t* const from = line + rows.offsets[q];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const Sums taps =
          hn::TableLookupBytes(LoadTaps(from + v * kLanes * rows.stride, rows.stride), order);
      made[v] = kVnni ? AddQuadsVnni(made[v], taps, weights) : AddQuads(made[v], taps, weights);
    }
  }
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) sums[v] = made[v];
}

#else

HWY_INLINE const TapOrder& LoadOrder(const TapRows& rows) { return *rows.order; }

template <bool kVnni>
HWY_INLINE void SumTapGroup(const TapRows& rows, const TapOrder& order, const uint8_t* line,
                            Sums* sums) {
  HWY_ALIGN int32_t plain[kGroupColumns] = {};
  for (int64_t q = 0; q < rows.quads; ++q) {
    int8_t weights[4];
    std::memcpy(weights, rows.weights + q, 4);
    const uint8_t* const from = line + rows.offsets[q];
    for (int t = 0; t < 4; ++t) {
      for (int64_t c = 0; c < kGroupColumns; ++c) {
        plain[c] += weights[t] * from[c * rows.stride + order[static_cast<size_t>(t)]];
      }
    }
  }
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(kSums, plain + v * kLanes);
}

#endif

template <PairFinish::Kind kKind, bool kVnni>
HWY_INLINE void AddTapsOf(const TapRows& rows, PairFinish finish) {
  char* const first = static_cast<char*>(finish.to);
  const auto& order = LoadOrder(rows);
  for (int64_t row = 0; row < rows.rows; ++row) {
    const uint8_t* const line = rows.lines + row * rows.line_step;
    finish.to = first + row * rows.result_step * ElementSize(kKind);
    for (int64_t column = 0; column < rows.columns; column += kGroupColumns) {
      Sums sums[kVectors];
      SumTapGroup<kVnni>(rows, order, line + column * rows.stride, sums);
      if constexpr (ElementSize(kKind) == 1) {
        // What a row's last group writes beyond it is the next rows', which follow.
        const int64_t left = (rows.rows - row) * rows.columns - column;
        if (rows.result_step == rows.columns && left >= kGroupColumns) {
          StoreByteGroup<kKind, false>(sums, 0, column, finish,
                                       static_cast<char*>(finish.to) + column);
          continue;
        }
      }
      StoreRow<kKind, false>(sums, 0, column, std::min(kGroupColumns, rows.columns - column),
                             finish);
    }
  }
}

template <bool kVnni>
HWY_INLINE void AddTapsWith(const TapRows& rows, const PairFinish& finish) {
  switch (finish.kind) {
    case PairFinish::Kind::kInt32:
      return AddTapsOf<PairFinish::Kind::kInt32, kVnni>(rows, finish);
    case PairFinish::Kind::kFloat32:
      return AddTapsOf<PairFinish::Kind::kFloat32, kVnni>(rows, finish);
    case PairFinish::Kind::kUint8:
      return AddTapsOf<PairFinish::Kind::kUint8, kVnni>(rows, finish);
    case PairFinish::Kind::kInt8:
      return AddTapsOf<PairFinish::Kind::kInt8, kVnni>(rows, finish);
  }
}

void AddTaps(const TapRows& rows, const PairFinish& finish) {
  HasVnni() ? AddTapsWith<true>(rows, finish) : AddTapsWith<false>(rows, finish);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(AddTaps);

TapOrder TapOrderOf(int64_t stride, int64_t tap_step) {
  const int64_t last = TapsOfQuad(stride, tap_step) - 1;
  TapOrder order;
  for (int64_t i = 0; i < 16; ++i) {
    order[static_cast<size_t>(i)] =
        static_cast<uint8_t>(i / 4 * stride + std::min(i % 4, last) * tap_step);
  }
  return order;
}

void SumTaps(const TapRows& rows, const PairFinish& finish) {
  HWY_DYNAMIC_DISPATCH(AddTaps)(rows, finish);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
