#include "kernels/cpu/product/sum_steps.h"

#include <cassert>

#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/sum_steps.cc"
// clang-format off: foreach_target.h must come first
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/cpu/vector/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, kPanelWidth> kFourLanes;
using FourVector = hn::Vec<decltype(kFourLanes)>;

// So many rows of B, each times its element of A.
template <int kRows>
HWY_INLINE FourVector SumOfProducts(const float* a, int64_t a_stride, const float* b,
                                    int64_t b_stride) {
  FourVector sum = hn::Zero(kFourLanes);
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    FourVector product =
        hn::Mul(hn::Set(kFourLanes, a[i * a_stride]), hn::LoadU(kFourLanes, b + i * b_stride));
    RoundHere(product);
    sum = i == 0 ? product : hn::Add(sum, product);
  }
  return sum;
}

// A vector of C.
HWY_INLINE FourVector SumInFours(const Gemm& gemm, const float* b, FourVector total) {
  const int64_t stride = gemm.b.row_stride;
  const float* a = gemm.a;
  int64_t left = gemm.depth;
  for (; left >= 4; left -= 4) {
    total = hn::Add(total, SumOfProducts<4>(a, gemm.a_depth_stride, b, stride));
    a += 4 * gemm.a_depth_stride;
    b += 4 * stride;
  }
  if (left >= 2) {
    total = hn::Add(total, SumOfProducts<2>(a, gemm.a_depth_stride, b, stride));
    a += 2 * gemm.a_depth_stride;
    b += 2 * stride;
    left -= 2;
  }
  return left == 0 ? total : hn::Add(total, SumOfProducts<1>(a, gemm.a_depth_stride, b, stride));
}

void RowInFours(const Gemm& gemm) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kFourLanes));
  for (int64_t column = 0; column < gemm.columns; column += lanes) {
    const auto mask = hn::FirstN(kFourLanes, static_cast<size_t>(gemm.columns - column));
    float* const c = gemm.c + column;
    const float* const b =
        gemm.b.data + column / kPanelWidth * gemm.b.panel_stride + column % kPanelWidth;
    const FourVector base =
        gemm.accumulate ? hn::MaskedLoad(mask, kFourLanes, c) : hn::Zero(kFourLanes);
    hn::BlendedStore(SumInFours(gemm, b, base), mask, kFourLanes, c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(RowInFours);

namespace {

constexpr int64_t kPackedStep = 256;
// Of a B that is not packed: a block of it has about as many elements whatever its form.
constexpr int64_t kBlockDepth = 128;
constexpr int64_t kBlockColumns = 128;
constexpr int64_t kLeastBlockColumns = 16;

int64_t DepthOfBlock(int64_t columns, int64_t depth, bool transposed_a) {
  int64_t width = kBlockColumns;
  int64_t step = kBlockDepth;
  if (columns >= depth) {
    while (step > 1 && step / 2 >= depth) step /= 2;
  } else if (!transposed_a) {
    while (width > kLeastBlockColumns && width / 2 >= columns) {
      step *= 2;
      width /= 2;
    }
  }
  return step;
}

}  // namespace

SumSteps SumStepsOf(const KernelSite& site, const ProductShape& shape, int64_t columns,
                    float scale) {
  constexpr int64_t kPacked = 1, kAsItIs = 2;
  const int64_t asked = site.attributes().Int("sum_steps", 0);
  if (asked == kPacked) return {.depth_step = kPackedStep};
  if (asked != kAsItIs) return {};
  const bool transposed_a = site.attributes().Int("transA", 0) != 0;
  const bool transposed_b = site.attributes().Int("transB", 0) != 0;
  if (scale == 1 && !transposed_a) {
    if (shape.rows == 1 && !transposed_b) return {.depth_step = kPackedStep, .in_fours = true};
    if (shape.rows == 1 || (columns == 1 && !transposed_b)) return {};
  }
  return {.depth_step = DepthOfBlock(columns, shape.depth, transposed_a)};
}

void RunRowInFours(const Gemm& gemm) {
  assert(gemm.rows == 1 && gemm.scale == 1);
  HWY_DYNAMIC_DISPATCH(RowInFours)(gemm);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
