#include "kernels/cpu/pooling/flat_max.h"

#include <bit>
#include <cassert>
#include <span>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling/flat_max.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

#ifndef PLIMSOLL_KERNELS_CPU_FLAT_MAX_
#define PLIMSOLL_KERNELS_CPU_FLAT_MAX_
namespace plimsoll::kernels::cpu {

struct FlatWindows {
  const uint8_t* map = nullptr;
  std::span<const int64_t> offsets;
  int64_t stride = 1;
  int64_t results = 0;
  const uint64_t* kept = nullptr;
  uint8_t flip = 0;
};

}  // namespace plimsoll::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

#define PLIMSOLL_FLAT_MAX \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")))

// Every second byte of two vectors, from the first on.
PLIMSOLL_FLAT_MAX HWY_INLINE __m512i EvenBytes(__m512i low, __m512i high) {
  const __m512i bytes = _mm512_set1_epi16(0xff);
  const __m512i packed =
      _mm512_packus_epi16(_mm512_and_si512(low, bytes), _mm512_and_si512(high, bytes));
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed);
}

template <bool kStrideTwo>
PLIMSOLL_FLAT_MAX void LargestOf(const FlatWindows& given, uint8_t* to) {
  const FlatWindows windows = given;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(windows.flip));
  const uint64_t* kept = windows.kept;
  const uint8_t* from = windows.map;
  for (int64_t left = windows.results; left > 0; ++kept) {
    __m512i most = _mm512_setzero_si512();
    for (const int64_t offset : windows.offsets) {
      const __m512i first = _mm512_loadu_si512(from + offset);
      const __m512i tap =
          kStrideTwo ? EvenBytes(first, _mm512_loadu_si512(from + offset + kFlatColumns)) : first;
      most = _mm512_max_epu8(most, tap);
    }
    from += kFlatColumns * (kStrideTwo ? 2 : 1);
    const __m512i made = _mm512_maskz_compress_epi8(*kept, _mm512_xor_si512(most, flip));
    // What is written beyond these is overwritten by the next.
    if (left >= kFlatColumns) {
      _mm512_storeu_si512(to, made);
    } else {
      _mm512_mask_storeu_epi8(to, (__mmask64{1} << left) - 1, made);
    }
    to += std::popcount(*kept);
    left -= std::popcount(*kept);
  }
}

void Largest(const FlatWindows& windows, uint8_t* to) {
  windows.stride == 2 ? LargestOf<true>(windows, to) : LargestOf<false>(windows, to);
}

#undef PLIMSOLL_FLAT_MAX

#else

void Largest(const FlatWindows&, uint8_t*) { assert(false); }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(Largest);

namespace {
constexpr int64_t kMostFlatMap = 24 << 10;  // bytes on the stack
}

bool FlatMax::Fits(const Window& window) {
  if (window.rank != 2 || window.begin[2] < 0 || !SumsFlatTaps(window.strides[2], 1)) return false;
  FlatMap map(window);
  // Lines are counted before anything is laid out for them.
  const int64_t lines = window.output[1] + (window.Extent(1) - 1) / window.strides[1];
  return map.line() * lines * window.strides[1] + map.slack() <= kMostFlatMap;
}

FlatMax::FlatMax(const Window& window) : window_(window), map_(window) {
  map_.Lay(window.output[1]);
  for (int64_t tap = 0; tap < window.kernel[1] * window.kernel[2]; ++tap) {
    offsets_.push_back(map_.LineOffset(tap / window.kernel[2] * window.dilations[1]) +
                       tap % window.kernel[2] * window.dilations[2]);
  }
}

void FlatMax::Run(const uint8_t* x, bool is_signed, uint8_t* y) const {
  alignas(64) uint8_t map[kMostFlatMap];
  const uint8_t flip = is_signed ? 0x80 : 0;
  map_.Copy(x, 0, flip, -window_.begin[1],
            (window_.output[1] - 1) * window_.strides[1] + window_.Extent(1), map);
  HWY_DYNAMIC_DISPATCH(Largest)
  ({.map = map,
    .offsets = offsets_,
    .stride = window_.strides[2],
    .results = window_.OutputSize(),
    .kept = map_.kept(),
    .flip = flip},
   y);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
