// Sums of products of bytes by AVX-512's VNNI. Compiled once for each instruction set: the guard
// below is Highway's, which lets every target in once.
#if defined(PLIMSOLL_KERNELS_CPU_VNNI_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_KERNELS_CPU_VNNI_SUMS_INL_H_
#undef PLIMSOLL_KERNELS_CPU_VNNI_SUMS_INL_H_
#else
#define PLIMSOLL_KERNELS_CPU_VNNI_SUMS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/quantization/byte_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
// All quads of some rows and groups of columns by VNNI, onto sums [group][row]. Apart, and for the
// one processor that has the instruction, so that pointers and sums stay in registers.
template <int kRows, int kGroups, bool kWeightColumns>
__attribute__((noinline, target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))) void
SumQuadsByVnni(const int32_t* row_quads, int64_t quads, const int32_t* group, __m512i* sums) {
  const int32_t* rows[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) rows[r] = row_quads + r * quads;
  const int64_t group_stride = quads * kGroupColumns;
  __m512i made[kGroups][kRows];
#pragma GCC unroll 16
  for (int i = 0; i < kGroups * kRows; ++i)
    made[i / kRows][i % kRows] = _mm512_loadu_si512(sums + i);
  for (int64_t q = 0; q < quads; ++q, group += kGroupColumns) {
    __m512i columns[kGroups];
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) columns[g] = _mm512_loadu_si512(group + g * group_stride);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512i quad = _mm512_set1_epi32(rows[r][q]);
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        made[g][r] = kWeightColumns ? _mm512_dpbusd_epi32(made[g][r], quad, columns[g])
                                    : _mm512_dpbusd_epi32(made[g][r], columns[g], quad);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kGroups * kRows; ++i)
    _mm512_storeu_si512(sums + i, made[i / kRows][i % kRows]);
}

// Adds `count` quads of a column and of kRows rows, one every `row_stride`, to a sum for each row.
template <int kRows>
__attribute__((noinline, target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))) void
SumColumnByVnni(const int32_t* row_quads, int64_t row_stride, const int32_t* column_quads,
                int64_t count, int32_t* sums, int64_t sum_stride) {
  __m512i made[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) made[r] = _mm512_setzero_si512();
  for (int64_t q = 0; q < count; q += kLanes) {
    const auto inside =
        static_cast<__mmask16>(count - q >= kLanes ? 0xffff : (1 << (count - q)) - 1);
    const __m512i column = _mm512_maskz_loadu_epi32(inside, column_quads + q);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512i row = _mm512_maskz_loadu_epi32(inside, row_quads + r * row_stride + q);
      made[r] = _mm512_dpbusd_epi32(made[r], column, row);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) sums[r * sum_stride] += _mm512_reduce_add_epi32(made[r]);
}

// Sums [group][row] of whole groups as bytes. Rows are weights, and their biases are in the sums.
template <bool kSigned, int kRows, int kGroups>
HWY_NOINLINE void StoreByteTile(const __m512i* sums, int64_t row, int64_t column,
                                const PairFinish& finish) {
  const float* scale = finish.scales + row * finish.scale_step;
  char* to = static_cast<char*>(finish.to) + row * finish.row_stride + column;
  for (int r = 0; r < kRows; ++r, scale += finish.scale_step, to += finish.row_stride) {
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      const __m512 scaled = _mm512_mul_ps(
          _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + g * kRows + r)), _mm512_set1_ps(*scale));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + g * kGroupColumns),
                       NarrowToBytes<kSigned>(scaled, finish.zero_point));
    }
  }
}
#endif

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
