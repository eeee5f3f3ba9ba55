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

// NaN stays what it is.
template <bool kPlain>
HWY_INLINE GateVector Clipped(const GateSums& sums, GateVector x) {
  if (kPlain || sums.clip <= 0) return x;
  const GateVector most = hn::Set(kGateVectors, sums.clip);
  return hn::Min(most, hn::Max(hn::Neg(most), x));
}

// `kPlain`: sums are activated as they are.
template <bool kPlain>
void LstmRowOf(const float* gates, int64_t stride, const GateSums& sums, int64_t count, float* cell,
               float* hidden) {
  ForColumns(count, [=](const auto& load, const auto& store, int64_t i) HWY_ATTR {
    const float* const own = gates + i;
    const GateVector old = load(cell + i);
    const auto gate = [&](int64_t number, int64_t peephole, GateVector state) HWY_ATTR {
      GateVector sum = load(own + number * stride);
      if (!kPlain && sums.peepholes != nullptr) {
        sum = hn::MulAdd(load(sums.peepholes + peephole * sums.peephole_stride + i), state, sum);
      }
      return Sigmoid(kGateVectors, Clipped<kPlain>(sums, sum));
    };
    const GateVector input = gate(0, 0, old);
    const GateVector forget = gate(2, 2, old);
    const GateVector candidate = Tanh(kGateVectors, Clipped<kPlain>(sums, load(own + 3 * stride)));
    const GateVector kept = hn::MulAdd(forget, old, hn::Mul(input, candidate));
    const GateVector output = gate(1, 1, kept);
    store(kept, cell + i);
    store(hn::Mul(output, Tanh(kGateVectors, kept)), hidden + i);
  });
}

void LstmRow(const float* gates, int64_t stride, const GateSums& sums, int64_t count, float* cell,
             float* hidden) {
  const bool plain = sums.clip <= 0 && sums.peepholes == nullptr;
  if (plain) return LstmRowOf<true>(gates, stride, sums, count, cell, hidden);
  LstmRowOf<false>(gates, stride, sums, count, cell, hidden);
}

void GruRow(const float* gates, int64_t stride, const GateSums& sums, const float* data,
            const float* before, int64_t count, float* hidden) {
  ForColumns(count, [=](const auto& load, const auto& store, int64_t i) HWY_ATTR {
    const float* const own = gates + i;
    const GateVector update = Sigmoid(kGateVectors, Clipped<false>(sums, load(own)));
    const GateVector reset = Sigmoid(kGateVectors, Clipped<false>(sums, load(own + stride)));
    const GateVector sum = hn::MulAdd(reset, load(own + 2 * stride), load(data + i));
    const GateVector candidate = Tanh(kGateVectors, Clipped<false>(sums, sum));
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

void StepLstmRow(const float* gates, int64_t stride, const GateSums& sums, int64_t count,
                 float* cell, float* hidden) {
  HWY_DYNAMIC_DISPATCH(LstmRow)(gates, stride, sums, count, cell, hidden);
}

void StepGruRow(const float* gates, int64_t stride, const GateSums& sums, const float* data,
                const float* before, int64_t count, float* hidden) {
  HWY_DYNAMIC_DISPATCH(GruRow)(gates, stride, sums, data, before, count, hidden);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
