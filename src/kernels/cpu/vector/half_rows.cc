#include "kernels/cpu/vector/half_rows.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/half_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void WidenRun(const Float16* from, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> halves;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* const first = reinterpret_cast<const hwy::float16_t*>(from);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(halves, first + i)), d, to + i);
  }
  for (; i < count; ++i) to[i] = from[i];
}

void NarrowRun(const float* from, int64_t count, Float16* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> halves;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* const first = reinterpret_cast<hwy::float16_t*>(to);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::DemoteTo(halves, hn::LoadU(d, from + i)), halves, first + i);
  }
  for (; i < count; ++i) to[i] = Float16(from[i]);
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(WidenRun);
HWY_EXPORT(NarrowRun);

void WidenRow(const Float16* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(WidenRun)(from, count, to);
}

void WidenRow(const Bfloat16* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

void NarrowRow(const float* from, int64_t count, Float16* to) {
  HWY_DYNAMIC_DISPATCH(NarrowRun)(from, count, to);
}

void NarrowRow(const float* from, int64_t count, Bfloat16* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = Bfloat16(from[i]);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
