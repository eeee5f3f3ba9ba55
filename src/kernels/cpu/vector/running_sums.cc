#include "kernels/cpu/vector/running_sums.h"

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/running_sums.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The sums of kVectors vectors stay in registers.
template <int kVectors, typename D, typename T>
HWY_INLINE void SumVectors(D d, const RunningSums& of, const T* x, T* y) {
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (int64_t i = 0; i < of.length; ++i, x += of.step, y += of.step) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const auto next = hn::Add(sums[v], hn::LoadU(d, x + v * width));
      hn::StoreU(of.exclusive ? sums[v] : next, d, y + v * width);
      sums[v] = next;
    }
  }
}

// What fills no vector is left to vectors of half the lanes.
template <typename D, typename T>
HWY_INLINE void SumLanes(D d, const RunningSums& of, int64_t lanes, const T* x, T* y) {
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 8 * width <= lanes; i += 8 * width) SumVectors<8>(d, of, x + i, y + i);
  for (; i + 2 * width <= lanes; i += 2 * width) SumVectors<2>(d, of, x + i, y + i);
  for (; i + width <= lanes; i += width) SumVectors<1>(d, of, x + i, y + i);
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (i < lanes) SumLanes(hn::Half<D>(), of, lanes - i, x + i, y + i);
  }
}

void SumFloats(const RunningSums& of, const float* x, float* y) {
  SumLanes(hn::ScalableTag<float>(), of, of.lanes, x, y);
}
void SumInt32s(const RunningSums& of, const int32_t* x, int32_t* y) {
  SumLanes(hn::ScalableTag<int32_t>(), of, of.lanes, x, y);
}
void SumInt64s(const RunningSums& of, const int64_t* x, int64_t* y) {
  SumLanes(hn::ScalableTag<int64_t>(), of, of.lanes, x, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(SumFloats);
HWY_EXPORT(SumInt32s);
HWY_EXPORT(SumInt64s);

void SumAlong(const RunningSums& sums, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(SumFloats)(sums, x, y);
}
void SumAlong(const RunningSums& sums, const int32_t* x, int32_t* y) {
  HWY_DYNAMIC_DISPATCH(SumInt32s)(sums, x, y);
}
void SumAlong(const RunningSums& sums, const int64_t* x, int64_t* y) {
  HWY_DYNAMIC_DISPATCH(SumInt64s)(sums, x, y);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
