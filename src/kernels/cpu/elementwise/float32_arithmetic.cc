#include "kernels/cpu/elementwise/float32_arithmetic.h"

#include <cstring>

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/float32_arithmetic.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The last elements, by way of a buffer of one vector for each operand.
template <class D, class Function>
HWY_INLINE void CombineRest(D d, const float* a, int64_t step_a, const float* b, int64_t step_b,
                            float* out, int64_t count, const Function& function) {
  HWY_ALIGN float left[hn::MaxLanes(d)] = {};
  HWY_ALIGN float right[hn::MaxLanes(d)] = {};
  for (int64_t i = 0; i < count; ++i) {
    left[i] = a[i * step_a];
    right[i] = b[i * step_b];
  }
  hn::Store(function(hn::Load(d, left), hn::Load(d, right)), d, left);
  std::memcpy(out, left, static_cast<size_t>(count) * sizeof(float));
}

template <class Function>
HWY_INLINE void Combine(const void* left, int64_t step_a, const void* right, int64_t step_b,
                        void* to, int64_t count, const Function& function) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* a = static_cast<const float*>(left);
  const auto* b = static_cast<const float*>(right);
  auto* out = static_cast<float*>(to);
  int64_t i = 0;
  if (step_a != 0 && step_b != 0) {
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(function(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
    }
  } else if (step_a != 0) {
    const auto same = hn::Set(d, *b);
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(function(hn::LoadU(d, a + i), same), d, out + i);
    }
  } else {
    const auto same = hn::Set(d, *a);
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(function(same, step_b != 0 ? hn::LoadU(d, b + i) : hn::Set(d, *b)), d, out + i);
    }
  }
  if (i == count) return;
  CombineRest(d, a + i * step_a, step_a, b + i * step_b, step_b, out + i, count - i, function);
}

void AddRun(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to, int64_t count) {
  Combine(a, step_a, b, step_b, to, count, [](auto x, auto y) HWY_ATTR { return hn::Add(x, y); });
}

void SubtractRun(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to,
                 int64_t count) {
  Combine(a, step_a, b, step_b, to, count, [](auto x, auto y) HWY_ATTR { return hn::Sub(x, y); });
}

void MultiplyRun(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to,
                 int64_t count) {
  Combine(a, step_a, b, step_b, to, count, [](auto x, auto y) HWY_ATTR { return hn::Mul(x, y); });
}

void DivideRun(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to,
               int64_t count) {
  Combine(a, step_a, b, step_b, to, count, [](auto x, auto y) HWY_ATTR { return hn::Div(x, y); });
}

// Comparisons are false for NaN, so x is kept where it is one, and y where only y is.
void MaxRun(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to, int64_t count) {
  Combine(a, step_a, b, step_b, to, count, [](auto x, auto y) HWY_ATTR {
    const auto larger = hn::IfThenElse(hn::Lt(x, y), y, x);
    return hn::IfThenElse(hn::Eq(y, y), larger, hn::IfThenElse(hn::Eq(x, x), y, x));
  });
}

void MinRun(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to, int64_t count) {
  Combine(a, step_a, b, step_b, to, count, [](auto x, auto y) HWY_ATTR {
    const auto smaller = hn::IfThenElse(hn::Lt(y, x), y, x);
    return hn::IfThenElse(hn::Eq(y, y), smaller, hn::IfThenElse(hn::Eq(x, x), y, x));
  });
}

void SlopeRun(const void* a, int64_t step_a, const void* b, int64_t step_b, void* to,
              int64_t count) {
  Combine(a, step_a, b, step_b, to, count, [](auto x, auto y) HWY_ATTR {
    const auto zero = hn::Zero(hn::DFromV<decltype(x)>());
    return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, y), x);
  });
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(AddRun);
HWY_EXPORT(SubtractRun);
HWY_EXPORT(MultiplyRun);
HWY_EXPORT(DivideRun);
HWY_EXPORT(MaxRun);
HWY_EXPORT(MinRun);
HWY_EXPORT(SlopeRun);

const Float32PairLoops& Float32Pairs() {
  static const Float32PairLoops loops = [] {
    // Without this the first entry taken from a table would choose again in every call.
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return Float32PairLoops{
        .add = HWY_DYNAMIC_DISPATCH(AddRun),
        .subtract = HWY_DYNAMIC_DISPATCH(SubtractRun),
        .multiply = HWY_DYNAMIC_DISPATCH(MultiplyRun),
        .divide = HWY_DYNAMIC_DISPATCH(DivideRun),
        .max = HWY_DYNAMIC_DISPATCH(MaxRun),
        .min = HWY_DYNAMIC_DISPATCH(MinRun),
        .slope = HWY_DYNAMIC_DISPATCH(SlopeRun),
    };
  }();
  return loops;
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
