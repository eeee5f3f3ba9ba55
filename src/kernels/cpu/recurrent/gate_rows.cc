#include "kernels/cpu/recurrent/gate_rows.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/recurrent/gate_rows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/cpu/vector/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

using GateVectors = hn::ScalableTag<float>;
constexpr GateVectors kGateVectors;
using GateVector = hn::Vec<GateVectors>;

// `column(load, store, i)` for vectors of columns from i on, of which the last may not be whole.
template <typename Column>
HWY_INLINE void ForColumns(int64_t count, const Column& column) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(kGateVectors));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    column([](const float* from) HWY_ATTR { return hn::LoadU(kGateVectors, from); },
           [](GateVector x, float* to) HWY_ATTR { hn::StoreU(x, kGateVectors, to); }, i);
  }
  if (i == count) return;
  const auto mask = hn::FirstN(kGateVectors, static_cast<size_t>(count - i));
  column([mask](const float* from) HWY_ATTR { return hn::MaskedLoad(mask, kGateVectors, from); },
         [mask](GateVector x, float* to) HWY_ATTR { hn::BlendedStore(x, mask, kGateVectors, to); },
         i);
}

void LstmRow(const float* gates, int64_t stride, int64_t count, float* cell, float* hidden) {
  ForColumns(count, [=](const auto& load, const auto& store, int64_t i) HWY_ATTR {
    const float* const own = gates + i;
    const GateVector input = Sigmoid(kGateVectors, load(own));
    const GateVector output = Sigmoid(kGateVectors, load(own + stride));
    const GateVector forget = Sigmoid(kGateVectors, load(own + 2 * stride));
    const GateVector candidate = Tanh(kGateVectors, load(own + 3 * stride));
    const GateVector kept = hn::MulAdd(forget, load(cell + i), hn::Mul(input, candidate));
    store(kept, cell + i);
    store(hn::Mul(output, Tanh(kGateVectors, kept)), hidden + i);
  });
}

void GruRow(const float* gates, int64_t stride, const float* data, const float* before,
            int64_t count, float* hidden) {
  ForColumns(count, [=](const auto& load, const auto& store, int64_t i) HWY_ATTR {
    const float* const own = gates + i;
    const GateVector update = Sigmoid(kGateVectors, load(own));
    const GateVector reset = Sigmoid(kGateVectors, load(own + stride));
    const GateVector sum = hn::MulAdd(reset, load(own + 2 * stride), load(data + i));
    const GateVector candidate = Tanh(kGateVectors, sum);
    const GateVector renewed = hn::NegMulAdd(update, candidate, candidate);
    store(hn::MulAdd(update, load(before + i), renewed), hidden + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(LstmRow);
HWY_EXPORT(GruRow);

void StepLstmRow(const float* gates, int64_t stride, int64_t count, float* cell, float* hidden) {
  HWY_DYNAMIC_DISPATCH(LstmRow)(gates, stride, count, cell, hidden);
}

void StepGruRow(const float* gates, int64_t stride, const float* data, const float* before,
                int64_t count, float* hidden) {
  HWY_DYNAMIC_DISPATCH(GruRow)(gates, stride, data, before, count, hidden);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
