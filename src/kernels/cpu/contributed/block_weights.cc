#include "kernels/cpu/contributed/block_weights.h"

#include <algorithm>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/contributed/block_weights.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A vector takes the elements of 8 bytes at most, so that the smallest block is whole vectors.
constexpr hn::CappedTag<float, 8> kNumbers;
constexpr hn::Rebind<int32_t, decltype(kNumbers)> kIntegers;
constexpr hn::Rebind<uint8_t, decltype(kNumbers)> kPacked;
using Numbers = hn::Vec<decltype(kNumbers)>;
constexpr int64_t kBytesAtOnce = hn::MaxLanes(kNumbers);

template <int kBits>
constexpr int64_t kElementsAtOnce = kBytesAtOnce * 8 / kBits;

// The elements of kBytesAtOnce bytes: of each byte the low bits, then those above them.
template <int kBits>
HWY_INLINE void Unpack(const uint8_t* bytes, Numbers* parts) {
  const auto whole = hn::PromoteTo(kIntegers, hn::LoadU(kPacked, bytes));
  if constexpr (kBits == 8) {
    parts[0] = hn::ConvertTo(kNumbers, whole);
  } else {
    const auto mask = hn::Set(kIntegers, (1 << kBits) - 1);
    parts[0] = hn::ConvertTo(kNumbers, hn::And(whole, mask));
    parts[1] = hn::ConvertTo(kNumbers, hn::And(hn::ShiftRight<kBits>(whole), mask));
    if constexpr (kBits == 2) {
      parts[2] = hn::ConvertTo(kNumbers, hn::And(hn::ShiftRight<4>(whole), mask));
      parts[3] = hn::ConvertTo(kNumbers, hn::ShiftRight<6>(whole));
    }
  }
}

template <int kBits, int kRows>
HWY_INLINE void DotOf(const BlockWeights& weights, const float* arranged, const float* sums,
                      float* to, int64_t stride) {
  constexpr int kParts = 8 / kBits;
  Numbers totals[kRows];
  float shifts[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    totals[r] = hn::Zero(kNumbers);
    shifts[r] = 0;
  }
  const uint8_t* bytes = weights.packed;
  for (int64_t block = 0; block < weights.blocks; ++block) {
    Numbers partial[kRows][kParts];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) partial[r][part] = hn::Zero(kNumbers);
    }
    const int64_t first = block * weights.block;
    for (int64_t i = 0; i < weights.block; i += kElementsAtOnce<kBits>) {
      Numbers elements[kParts];
      Unpack<kBits>(bytes, elements);
      bytes += kBytesAtOnce;
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const float* const row = arranged + r * weights.depth + first + i;
#pragma GCC unroll 4
        for (int part = 0; part < kParts; ++part) {
          partial[r][part] = hn::MulAdd(
              elements[part], hn::LoadU(kNumbers, row + part * kBytesAtOnce), partial[r][part]);
        }
      }
    }
    const float scale = weights.scales[block];
    const float zero = scale * weights.zero_points[block];
    const Numbers factor = hn::Set(kNumbers, scale);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      Numbers sum = partial[r][0];
#pragma GCC unroll 4
      for (int part = 1; part < kParts; ++part) sum = hn::Add(sum, partial[r][part]);
      totals[r] = hn::MulAdd(sum, factor, totals[r]);
      shifts[r] += zero * sums[r * weights.blocks + block];
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    to[r * stride] = hn::GetLane(hn::SumOfLanes(kNumbers, totals[r])) - shifts[r];
  }
}

template <int kBits>
HWY_INLINE void DotSome(const BlockWeights& weights, int64_t rows, const float* arranged,
                        const float* sums, float* to, int64_t stride) {
  switch (rows) {
    case 1:
      return DotOf<kBits, 1>(weights, arranged, sums, to, stride);
    case 2:
      return DotOf<kBits, 2>(weights, arranged, sums, to, stride);
    case 3:
      return DotOf<kBits, 3>(weights, arranged, sums, to, stride);
    default:
      return DotOf<kBits, 4>(weights, arranged, sums, to, stride);
  }
}

void Dot(const BlockWeights& weights, int64_t rows, const float* arranged, const float* sums,
         float* to, int64_t stride) {
  (weights.bits == 8   ? DotSome<8>
   : weights.bits == 4 ? DotSome<4>
                       : DotSome<2>)(weights, rows, arranged, sums, to, stride);
}

void Arrange(const BlockWeights& weights, const float* row, int64_t count, float* arranged,
             float* sums) {
  const int64_t parts = 8 / weights.bits;
  const int64_t at_once = kBytesAtOnce * parts;
  for (int64_t i = 0; i < weights.depth; ++i) {
    const int64_t within = i % at_once;
    arranged[i - within + within % parts * kBytesAtOnce + within / parts] =
        i < count ? row[i] : 0.0F;
  }
  for (int64_t block = 0; block < weights.blocks; ++block) {
    float sum = 0;
    for (int64_t i = 0; i < weights.block; ++i) sum += arranged[block * weights.block + i];
    sums[block] = sum;
  }
}

template <int kBits>
HWY_INLINE void UnpackOf(const BlockWeights& weights, float* to) {
  constexpr int kParts = 8 / kBits;
  const uint8_t* bytes = weights.packed;
  for (int64_t block = 0; block < weights.blocks; ++block) {
    const Numbers scale = hn::Set(kNumbers, weights.scales[block]);
    const Numbers zero = hn::Set(kNumbers, weights.zero_points[block]);
    for (int64_t i = 0; i < weights.block; i += kElementsAtOnce<kBits>) {
      Numbers elements[kParts];
      Unpack<kBits>(bytes, elements);
      bytes += kBytesAtOnce;
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) {
        elements[part] = hn::Mul(hn::Sub(elements[part], zero), scale);
      }
      if constexpr (kParts == 4) {
        hn::StoreInterleaved4(elements[0], elements[1], elements[2], elements[3], kNumbers, to);
      } else if constexpr (kParts == 2) {
        hn::StoreInterleaved2(elements[0], elements[1], kNumbers, to);
      } else {
        hn::StoreU(elements[0], kNumbers, to);
      }
      to += kElementsAtOnce<kBits>;
    }
  }
}

void UnpackWhole(const BlockWeights& weights, float* to) {
  (weights.bits == 8 ? UnpackOf<8> : weights.bits == 4 ? UnpackOf<4> : UnpackOf<2>)(weights, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(Dot);
HWY_EXPORT(Arrange);
HWY_EXPORT(UnpackWhole);

void ArrangeRow(const BlockWeights& weights, const float* row, int64_t count, float* arranged,
                float* sums) {
  HWY_DYNAMIC_DISPATCH(Arrange)(weights, row, count, arranged, sums);
}

void DotRows(const BlockWeights& weights, int64_t rows, const float* arranged, const float* sums,
             float* to, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(Dot)(weights, rows, arranged, sums, to, stride);
}

void UnpackColumn(const BlockWeights& weights, float* to) {
  HWY_DYNAMIC_DISPATCH(UnpackWhole)(weights, to);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
