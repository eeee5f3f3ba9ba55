#include "kernels/cpu/quantization/flat_taps.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantization/flat_taps.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/quantization/byte_sums-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

#define PLIMSOLL_FLAT_TAPS \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2")))

bool HasFlatTaps() {
  static const bool has = HasVnni() && __builtin_cpu_supports("avx512vbmi") != 0 &&
                          __builtin_cpu_supports("avx512vbmi2") != 0;
  return has;
}

// Bits [first, first + count), as far as there are 64.
HWY_INLINE uint64_t BitsBetween(int64_t first, int64_t count) {
  const auto below = [](int64_t bits) {
    return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << std::max<int64_t>(bits, 0)) - 1;
  };
  return below(first + count) & ~below(first);
}

PLIMSOLL_FLAT_TAPS void CopyLines(const PaddedLines& given, uint8_t* to) {
  const PaddedLines lines = given;
  const auto flip = _mm512_set1_epi8(static_cast<char>(lines.flip));
  const auto padding = _mm512_set1_epi8(static_cast<char>(lines.padding));
  const auto flipped = _mm512_xor_si512(padding, flip);
  const auto pad = [&](int64_t size) PLIMSOLL_FLAT_TAPS {
    for (int64_t at = 0; at < size; at += kFlatColumns) _mm512_storeu_si512(to + at, padding);
    to += size;
  };
  pad(lines.above * lines.pitch);
  // What is not among a line's bits is not read.
  const uint8_t* from = lines.from - lines.before;
  const uint64_t first = BitsBetween(lines.before, lines.width);
  for (int64_t i = 0; i < lines.count; ++i, from += lines.step, to += lines.pitch) {
    for (int64_t at = 0; at < lines.pitch; at += kFlatColumns) {
      const uint64_t own = at == 0 ? first : BitsBetween(lines.before - at, lines.width);
      const __m512i bytes = _mm512_mask_loadu_epi8(flipped, own, from + at);
      _mm512_storeu_si512(to + at, _mm512_xor_si512(bytes, flip));
    }
  }
  pad(lines.below * lines.pitch + lines.before);
}

// How taps of 64 columns come into four vectors of sums: each quarter of a vector is four columns.
enum class FlatForm { kDense, kSpread, kStrideTwo };

template <FlatForm kForm>
struct TapVectors {
  __m512i orders[3];  // within each quarter, of taps from its first column, fourth and eighth

  PLIMSOLL_FLAT_TAPS HWY_INLINE void Load(const uint8_t* from, __m512i (&taps)[4]) const {
    const auto load = [&](int64_t at) PLIMSOLL_FLAT_TAPS { return _mm512_loadu_si512(from + at); };
    if constexpr (kForm == FlatForm::kDense) {
      const __m512i first = load(0);
      taps[0] = _mm512_shuffle_epi8(first, orders[0]);
      taps[1] = _mm512_shuffle_epi8(first, orders[1]);
      taps[2] = _mm512_shuffle_epi8(first, orders[2]);
      taps[3] = _mm512_shuffle_epi8(load(12), orders[0]);
    } else {
      constexpr int64_t kStep = kForm == FlatForm::kSpread ? 4 : 8;
      constexpr int64_t kHalf = kForm == FlatForm::kSpread ? 8 : 64;
      taps[0] = _mm512_shuffle_epi8(load(0), orders[0]);
      taps[1] = _mm512_shuffle_epi8(load(kStep), orders[0]);
      taps[2] = _mm512_shuffle_epi8(load(kHalf), orders[0]);
      taps[3] = _mm512_shuffle_epi8(load(kHalf + kStep), orders[0]);
    }
  }
};

// Four vectors of whole numbers as bytes in the order of columns.
template <FlatForm kForm, bool kSigned>
PLIMSOLL_FLAT_TAPS HWY_INLINE __m512i NarrowAll(const __m512i (&whole)[4], __m512i zero) {
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zero);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), zero);
  const __m512i bytes = kSigned ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
  if constexpr (kForm != FlatForm::kStrideTwo) return bytes;
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), bytes);
}

template <FlatForm kForm, bool kSigned>
PLIMSOLL_FLAT_TAPS void SumFlatOf(const FlatTaps& given, const PairFinish& finish) {
  const FlatTaps flat = given;
  const int64_t stride = kForm == FlatForm::kStrideTwo ? 2 : 1;
  TapVectors<kForm> vectors;
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(flat.order->data())));
  for (int i = 0; i < 3; ++i) {
    vectors.orders[i] = _mm512_add_epi8(order, _mm512_set1_epi8(static_cast<char>(4 * i)));
  }
  const __m512i bias = _mm512_set1_epi32(finish.bias == nullptr ? 0 : *finish.bias);
  const __m512 scale = _mm512_set1_ps(*finish.scales);
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(finish.zero_point));
  // Beyond it a float becomes the lowest integer.
  const __m512 most = _mm512_set1_ps(65536.0F);
  PairFinish nearest = finish;
  nearest.bias = nullptr;
  auto* to = static_cast<uint8_t*>(finish.to);
  int64_t left = flat.results;
  for (int64_t column = 0; left > 0; column += kFlatColumns) {
    __m512i sums[4] = {bias, bias, bias, bias};
    for (int64_t q = 0; q < flat.quads; ++q) {
      const __m512i weights = _mm512_set1_epi32(flat.weights[q]);
      __m512i taps[4];
      vectors.Load(flat.map + column * stride + flat.offsets[q], taps);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = _mm512_dpbusd_epi32(sums[v], taps[v], weights);
    }
    __m512i whole[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const __m512 scaled = finish.scale_rests == nullptr
                                ? _mm512_mul_ps(_mm512_cvtepi32_ps(sums[v]), scale)
                                : NearestWhole<false>(Sums{sums[v]}, 0, 0, nearest).raw;
      whole[v] = _mm512_cvtps_epi32(_mm512_min_ps(most, scaled));
    }
    const uint64_t kept = flat.kept[column / kFlatColumns];
    const __m512i made = _mm512_maskz_compress_epi8(kept, NarrowAll<kForm, kSigned>(whole, zero));
    // What is written beyond these is overwritten by the next.
    if (left >= kFlatColumns) {
      _mm512_storeu_si512(to, made);
    } else {
      _mm512_mask_storeu_epi8(to, BitsBetween(0, left), made);
    }
    to += std::popcount(kept);
    left -= std::popcount(kept);
  }
}

template <bool kSigned>
void SumFlatSigned(const FlatTaps& taps, const PairFinish& finish) {
  if (taps.stride == 2) return SumFlatOf<FlatForm::kStrideTwo, kSigned>(taps, finish);
  // Taps of four columns beside each other end in the eighth byte.
  if (taps.tap_step == 1) return SumFlatOf<FlatForm::kDense, kSigned>(taps, finish);
  SumFlatOf<FlatForm::kSpread, kSigned>(taps, finish);
}

void SumFlat(const FlatTaps& taps, const PairFinish& finish) {
  finish.kind == PairFinish::Kind::kInt8 ? SumFlatSigned<true>(taps, finish)
                                         : SumFlatSigned<false>(taps, finish);
}

#undef PLIMSOLL_FLAT_TAPS

#else

bool HasFlatTaps() { return false; }
void CopyLines(const PaddedLines&, uint8_t*) { assert(false); }
void SumFlat(const FlatTaps&, const PairFinish&) { assert(false); }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(HasFlatTaps);
HWY_EXPORT(CopyLines);
HWY_EXPORT(SumFlat);

bool SumsFlatTaps(int64_t stride, int64_t tap_step) {
  return stride <= 2 && TapsOfQuad(stride, tap_step) > 0 && HWY_DYNAMIC_DISPATCH(HasFlatTaps)();
}

void CopyPaddedLines(const PaddedLines& lines, uint8_t* to) {
  HWY_DYNAMIC_DISPATCH(CopyLines)(lines, to);
}

void SumFlatTaps(const FlatTaps& taps, const PairFinish& finish) {
  HWY_DYNAMIC_DISPATCH(SumFlat)(taps, finish);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
