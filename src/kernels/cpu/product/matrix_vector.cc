#include "kernels/cpu/product/matrix_vector.h"

#include <algorithm>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/matrix_vector.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::ScalableTag<float>;
using Vector = hn::Vec<Vectors>;
constexpr Vectors kVectors;

// Four rows at a time, so that sums do not wait for each other.
void TimesVector(const float* rows, int64_t stride, int64_t count, int64_t width, const float* x,
                 float factor, float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kVectors));
  const int64_t whole = width / lanes * lanes;
  for (int64_t first = 0; first < count; first += 4) {
    const float* a = rows + first * stride;
    const float* b = rows + std::min(first + 1, count - 1) * stride;
    const float* c = rows + std::min(first + 2, count - 1) * stride;
    const float* d = rows + std::min(first + 3, count - 1) * stride;
    Vector sums[4] = {hn::Zero(kVectors), hn::Zero(kVectors), hn::Zero(kVectors),
                      hn::Zero(kVectors)};
    for (int64_t i = 0; i < whole; i += lanes) {
      const Vector v = hn::LoadU(kVectors, x + i);
      sums[0] = hn::MulAdd(hn::LoadU(kVectors, a + i), v, sums[0]);
      sums[1] = hn::MulAdd(hn::LoadU(kVectors, b + i), v, sums[1]);
      sums[2] = hn::MulAdd(hn::LoadU(kVectors, c + i), v, sums[2]);
      sums[3] = hn::MulAdd(hn::LoadU(kVectors, d + i), v, sums[3]);
    }
    const float* row[4] = {a, b, c, d};
    int64_t summed = whole;
#if !HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_AVX2  // whose masked loads of floats do not fault
    if (whole < width) {
      const auto rest = hn::FirstN(kVectors, static_cast<size_t>(width - whole));
      const Vector v = hn::MaskedLoad(rest, kVectors, x + whole);
      for (int k = 0; k < 4; ++k) {
        sums[k] = hn::MulAdd(hn::MaskedLoad(rest, kVectors, row[k] + whole), v, sums[k]);
      }
      summed = width;
    }
#endif
    for (int64_t k = 0; k < std::min<int64_t>(4, count - first); ++k) {
      float total = hn::GetLane(hn::SumOfLanes(kVectors, sums[k]));
      for (int64_t i = summed; i < width; ++i) total += row[k][i] * x[i];
      y[first + k] = factor * total;
    }
  }
}

// Columns in blocks that stay in registers over all rows; kCut: `last` of them are in the last
// vector.
template <int kBlock, bool kCut = false>
HWY_INLINE void SumBlock(const float* rows, int64_t stride, int64_t count, const float* weights,
                         float* y, int64_t last = 0) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kVectors));
  const auto mask = hn::FirstN(kVectors, static_cast<size_t>(last));
  Vector sums[kBlock];
#pragma GCC unroll 8
  for (int v = 0; v < kBlock; ++v) sums[v] = hn::Zero(kVectors);
  for (int64_t i = 0; i < count; ++i) {
    const Vector weight = hn::Set(kVectors, weights[i]);
#pragma GCC unroll 8
    for (int v = 0; v < kBlock; ++v) {
      const float* const from = rows + i * stride + v * lanes;
      const bool cut = kCut && v == kBlock - 1;
      const Vector elements =
          cut ? hn::MaskedLoad(mask, kVectors, from) : hn::LoadU(kVectors, from);
      sums[v] = hn::MulAdd(elements, weight, sums[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kBlock; ++v) {
    const bool cut = kCut && v == kBlock - 1;
    if (cut) {
      hn::BlendedStore(sums[v], mask, kVectors, y + v * lanes);
    } else {
      hn::StoreU(sums[v], kVectors, y + v * lanes);
    }
  }
}

// What is left of the columns takes the smallest block that holds it.
template <int kBlock>
HWY_INLINE void SumRest(const float* rows, int64_t stride, int64_t count, int64_t left,
                        const float* weights, float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kVectors));
  if constexpr (kBlock > 1) {
    if (left <= (kBlock - 1) * lanes) {
      return SumRest<kBlock - 1>(rows, stride, count, left, weights, y);
    }
  }
  SumBlock<kBlock, true>(rows, stride, count, weights, y, left - (kBlock - 1) * lanes);
}

void Sum(const float* rows, int64_t stride, int64_t count, int64_t width, const float* weights,
         float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kVectors));
  int64_t column = 0;
  for (; column + 8 * lanes <= width; column += 8 * lanes) {
    SumBlock<8>(rows + column, stride, count, weights, y + column);
  }
  if (column < width) {
    SumRest<8>(rows + column, stride, count, width - column, weights, y + column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(TimesVector);
HWY_EXPORT(Sum);

void RowsTimesVector(const float* rows, int64_t stride, int64_t count, int64_t width,
                     const float* x, float factor, float* y) {
  HWY_DYNAMIC_DISPATCH(TimesVector)(rows, stride, count, width, x, factor, y);
}

void SumOfRows(const float* rows, int64_t stride, int64_t count, int64_t width,
               const float* weights, float* y) {
  HWY_DYNAMIC_DISPATCH(Sum)(rows, stride, count, width, weights, y);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
