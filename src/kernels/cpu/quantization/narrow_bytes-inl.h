// Floats as bytes, 16 at a time. Compiled once for each instruction set: the guard below is
// Highway's, which lets every target in once.
#if defined(PLIMSOLL_KERNELS_CPU_NARROW_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_KERNELS_CPU_NARROW_BYTES_INL_H_
#undef PLIMSOLL_KERNELS_CPU_NARROW_BYTES_INL_H_
#else
#define PLIMSOLL_KERNELS_CPU_NARROW_BYTES_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
// Both rounded to the nearest even number, plus the zero point, kept to the type's range by the
// narrowing instructions. What is not a number becomes the lowest one.
template <bool kSigned>
HWY_INLINE __m128i NarrowToBytes(__m256 low, __m256 high, int32_t zero_point) {
  // Beyond it a float becomes the lowest integer.
  const __m256 most = _mm256_set1_ps(65536.0F);
  const __m256i halves =
      _mm256_adds_epi16(_mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_min_ps(most, low)),
                                           _mm256_cvtps_epi32(_mm256_min_ps(most, high))),
                        _mm256_set1_epi16(static_cast<int16_t>(zero_point)));
  const __m256i bytes =
      kSigned ? _mm256_packs_epi16(halves, halves) : _mm256_packus_epi16(halves, halves);
  // Narrowing works on each half of a register by itself.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5);
  return _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(bytes, order));
}
#elif HWY_TARGET == HWY_AVX3
// The same of 16 in one register.
template <bool kSigned>
HWY_INLINE __m128i NarrowToBytes(__m512 all, int32_t zero_point) {
  const __m512 most = _mm512_set1_ps(65536.0F);
  const __m512 least = _mm512_set1_ps(static_cast<float>((kSigned ? -128 : 0) - zero_point));
  // The second operand of a maximum is taken where the first is not a number.
  const __m512i whole =
      _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_max_ps(_mm512_min_ps(most, all), least)),
                       _mm512_set1_epi32(zero_point));
  return kSigned ? _mm512_cvtsepi32_epi8(whole) : _mm512_cvtusepi32_epi8(whole);
}
#endif

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
