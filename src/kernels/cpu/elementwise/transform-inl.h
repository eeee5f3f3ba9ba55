// A function of vectors over a row of floats, compiled once for each instruction set: the guard
// below is Highway's, which lets every target in once.
#if defined(PLIMSOLL_KERNELS_CPU_TRANSFORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_KERNELS_CPU_TRANSFORM_INL_H_
#undef PLIMSOLL_KERNELS_CPU_TRANSFORM_INL_H_
#else
#define PLIMSOLL_KERNELS_CPU_TRANSFORM_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The last elements go through a buffer of one vector, so nothing beyond them is touched.
template <class Function>
HWY_INLINE void Transform(const void* from, void* to, int64_t count, const Function& function) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* in = static_cast<const float*>(from);
  auto* out = static_cast<float*>(to);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(function(d, hn::LoadU(d, in + i)), d, out + i);
  }
  if (i == count) return;
  HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, in + i, static_cast<size_t>(count - i) * sizeof(float));
  hn::Store(function(d, hn::Load(d, rest)), d, rest);
  std::memcpy(out + i, rest, static_cast<size_t>(count - i) * sizeof(float));
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
