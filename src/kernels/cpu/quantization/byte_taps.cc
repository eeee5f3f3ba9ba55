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

// The sums of eight columns, in two halves of 16 bytes of a line each.
HWY_INLINE __m256i AddTapQuad(__m256i sum, const uint8_t* from, int64_t stride, __m256i order,
                              __m256i weights) {
  const auto half = [&](int64_t column) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + column * stride));
  };
  const __m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(half(0)), half(4), 1);
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_shuffle_epi8(bytes, order), weights);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

HWY_INLINE __m256i LoadOrder(const TapRows& rows) {
  return _mm256_broadcastsi128_si256(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows.order->data())));
}

HWY_INLINE void SumTapGroup(const TapRows& rows, __m256i order, const uint8_t* line, Sums* sums) {
  __m256i low = _mm256_setzero_si256();
  __m256i high = low;
  for (int64_t q = 0; q < rows.quads; ++q) {
    const __m256i weights = _mm256_set1_epi32(rows.weights[q]);
    const uint8_t* const from = line + rows.offsets[q];
    low = AddTapQuad(low, from, rows.stride, order, weights);
    high = AddTapQuad(high, from + 8 * rows.stride, rows.stride, order, weights);
  }
#if HWY_TARGET == HWY_AVX2
  sums[0] = Sums{low};
  sums[1] = Sums{high};
#else
  sums[0] = Sums{_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)};
#endif
}

#else

HWY_INLINE const TapOrder& LoadOrder(const TapRows& rows) { return *rows.order; }

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

template <PairFinish::Kind kKind>
HWY_INLINE void AddTapsOf(const TapRows& rows, PairFinish finish) {
  char* const first = static_cast<char*>(finish.to);
  const auto& order = LoadOrder(rows);
  for (int64_t row = 0; row < rows.rows; ++row) {
    const uint8_t* const line = rows.lines + row * rows.line_step;
    finish.to = first + row * rows.result_step * ElementSize(kKind);
    for (int64_t column = 0; column < rows.columns; column += kGroupColumns) {
      Sums sums[kVectors];
      SumTapGroup(rows, order, line + column * rows.stride, sums);
#if HWY_TARGET == HWY_AVX2
      if constexpr (ElementSize(kKind) == 1) {
        // What a row's last group writes beyond it is the next rows', which follow.
        const int64_t left = (rows.rows - row) * rows.columns - column;
        if (rows.result_step == rows.columns && left >= kGroupColumns) {
          StoreByteGroup<kKind, false>(sums, 0, column, finish,
                                       static_cast<char*>(finish.to) + column);
          continue;
        }
      }
#endif
      StoreRow<kKind, false>(sums, 0, column, std::min(kGroupColumns, rows.columns - column),
                             finish);
    }
  }
}

void AddTaps(const TapRows& rows, const PairFinish& finish) {
  switch (finish.kind) {
    case PairFinish::Kind::kInt32:
      return AddTapsOf<PairFinish::Kind::kInt32>(rows, finish);
    case PairFinish::Kind::kFloat32:
      return AddTapsOf<PairFinish::Kind::kFloat32>(rows, finish);
    case PairFinish::Kind::kUint8:
      return AddTapsOf<PairFinish::Kind::kUint8>(rows, finish);
    case PairFinish::Kind::kInt8:
      return AddTapsOf<PairFinish::Kind::kInt8>(rows, finish);
  }
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
