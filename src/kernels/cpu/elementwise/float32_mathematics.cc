#include "kernels/cpu/elementwise/float32_mathematics.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/float32_mathematics.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/elementwise/transform-inl.h"
#include "kernels/cpu/vector/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

// The logarithm of normal numbers above 0: of m 2^n with m from sqrt(1/2) to sqrt(2). Error 8e-10.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogOfNormal(D d, V x) {
  static constexpr float kTerms[] = {0.33333313f,  -0.25000009f, 0.20002119f,
                                     -0.16667996f, 0.14219551f,  -0.12405591f,
                                     0.11888175f,  -0.11675641f, 0.06746601f};
  const hn::RebindToSigned<D> di;
  // The bits of sqrt(1/2) as zero of the exponent, so that m is above it.
  const auto bits = hn::Sub(hn::BitCast(di, x), hn::Set(di, 0x3f3504f3));
  const V n = hn::ConvertTo(d, hn::ShiftRight<23>(bits));
  const auto rest = hn::And(bits, hn::Set(di, 0x007fffff));
  const V f = hn::Sub(hn::BitCast(d, hn::Add(rest, hn::Set(di, 0x3f3504f3))), hn::Set(d, 1.0f));
  const V square = hn::Mul(f, f);
  V y = hn::Mul(hn::Mul(square, f), Polynomial(d, f, kTerms));
  // ln 2 in two parts; products of the first are exact.
  y = hn::MulAdd(n, hn::Set(d, -2.12194440e-4f), y);
  y = hn::NegMulAdd(square, hn::Set(d, 0.5f), y);
  return hn::MulAdd(n, hn::Set(d, 0.693359375f), hn::Add(f, y));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log(D d, V x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const V least = hn::Set(d, std::numeric_limits<float>::min());
  const auto subnormal = hn::Lt(x, least);
  const V scaled = hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 8388608.0f)), x);
  V y = LogOfNormal(d, scaled);
  y = hn::IfThenElse(subnormal, hn::Sub(y, hn::Set(d, 15.942385f)), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Set(d, kInfinity)), y, x);  // infinity and NaN
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Set(d, -kInfinity), y);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::nanf("")), y);
}

// sin(x + quarters pi / 2) for sizes up to kMostTurned. Error 5e-12 of the polynomials.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SineOf(D d, V x, int quarters) {
  static constexpr float kSine[] = {-0.16666667f, 0.008333329f, -0.00019839335f, 2.7183116e-06f};
  static constexpr float kCosine[] = {0.041666668f, -0.0013888883f, 2.479952e-05f, -2.721024e-07f};
  const hn::RebindToSigned<D> di;
  const V turns = hn::Round(hn::Mul(x, hn::Set(d, 0.63661975f)));
  // pi / 2 in three parts; products of the first two are exact.
  V r = hn::NegMulAdd(turns, hn::Set(d, 1.5703125f), x);
  r = hn::NegMulAdd(turns, hn::Set(d, 4.837512969970703125e-4f), r);
  r = hn::NegMulAdd(turns, hn::Set(d, 7.54978995489188216e-8f), r);
  const V square = hn::Mul(r, r);
  const V sine = hn::MulAdd(hn::Mul(square, r), Polynomial(d, square, kSine), r);
  const V cosine = hn::MulAdd(hn::Mul(square, square), Polynomial(d, square, kCosine),
                              hn::NegMulAdd(square, hn::Set(d, 0.5f), hn::Set(d, 1.0f)));
  const auto quarter = hn::Add(hn::ConvertTo(di, turns), hn::Set(di, quarters));
  const auto odd = hn::Ne(hn::And(quarter, hn::Set(di, 1)), hn::Zero(di));
  const auto sign = hn::ShiftLeft<30>(hn::And(quarter, hn::Set(di, 2)));
  const V either = hn::IfThenElse(hn::RebindMask(d, odd), cosine, sine);
  return hn::BitCast(d, hn::Xor(hn::BitCast(di, either), sign));
}

// From here on, and for NaN, the C library is asked.
constexpr float kMostTurned = 8192;

template <int kQuarters>
HWY_INLINE void TurnedRun(const void* from, void* to, int64_t count, float (*library)(float)) {
  Transform(from, to, count, [library](auto d, auto x) HWY_ATTR {
    if (HWY_LIKELY(hn::AllTrue(d, hn::Lt(hn::Abs(x), hn::Set(d, kMostTurned))))) {
      return SineOf(d, x, kQuarters);
    }
    HWY_ALIGN float each[hn::MaxLanes(d)];
    hn::Store(x, d, each);
    for (size_t i = 0; i < hn::Lanes(d); ++i) each[i] = library(each[i]);
    return hn::Load(d, each);
  });
}

// Error 2e-9 of the polynomial.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Atan(D d, V x) {
  static constexpr float kTerms[] = {-0.333333f,   0.19998638f,  -0.14265245f,
                                     0.10957572f,  -0.08419446f, 0.05823432f,
                                     -0.03145547f, 0.011064315f, -0.0018271847f};
  const V one = hn::Set(d, 1.0f);
  const V size = hn::Abs(x);
  const auto large = hn::Gt(size, one);
  const V t = hn::IfThenElse(large, hn::Div(one, size), size);
  const V square = hn::Mul(t, t);
  const V near = hn::MulAdd(hn::Mul(square, t), Polynomial(d, square, kTerms), t);
  return hn::CopySign(hn::IfThenElse(large, hn::Sub(hn::Set(d, 1.57079633f), near), near), x);
}

// exp(x) - 1, as tanh(x / 2) (exp(x) + 1), which loses nothing near 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpMinusOne(D d, V x) {
  const V half = Tanh(d, hn::Mul(x, hn::Set(d, 0.5f)));
  return hn::Mul(half, hn::Add(Exp(d, x), hn::Set(d, 1.0f)));
}

// The larger of x and 0, and log(1 + u) with u = exp(-|x|). What 1 + u is rounded by is made good.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Softplus(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V u = Exp(d, hn::Neg(hn::Abs(x)));
  const V sum = hn::Add(one, u);
  const V rounded = hn::Sub(sum, one);
  const V log = hn::Mul(LogOfNormal(d, sum), hn::Div(u, rounded));
  const V small = hn::IfThenElse(hn::Eq(rounded, hn::Zero(d)), u, log);
  return hn::Add(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x), small);
}

void AbsoluteRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Abs(x); });
}

void NegativeRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Neg(x); });
}

void SignRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR {
    const auto zero = hn::Zero(d);
    const auto above = hn::IfThenElse(hn::Gt(x, zero), hn::Set(d, 1.0f), zero);
    const auto number = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, -1.0f), above);
    return hn::IfThenElse(hn::Eq(x, x), number, x);
  });
}

void ReciprocalRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return hn::Div(hn::Set(d, 1.0f), x); });
}

void FloorRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Floor(x); });
}

void CeilRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Ceil(x); });
}

void RoundRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Round(x); });
}

void LogRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return Log(d, x); });
}

void SinRun(const void* from, void* to, int64_t count, const Coefficients&) {
  TurnedRun<0>(from, to, count, sinf);
}

void CosRun(const void* from, void* to, int64_t count, const Coefficients&) {
  TurnedRun<1>(from, to, count, cosf);
}

void AtanRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return Atan(d, x); });
}

void SoftplusRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return Softplus(d, x); });
}

void SoftsignRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR {
    return hn::Div(x, hn::Add(hn::Set(d, 1.0f), hn::Abs(x)));
  });
}

void SeluRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR {
    const auto below = hn::Mul(hn::Set(d, static_cast<float>(c.alpha)), ExpMinusOne(d, x));
    const auto either = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
    return hn::Mul(hn::Set(d, static_cast<float>(c.beta)), either);
  });
}

void CeluRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR {
    const auto alpha = hn::Set(d, static_cast<float>(c.alpha));
    const auto below = hn::Mul(alpha, ExpMinusOne(d, hn::Div(x, alpha)));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, x);
  });
}

void ThresholdedReluRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR {
    const auto alpha = hn::Set(d, static_cast<float>(c.alpha));
    return hn::IfThenElse(hn::Le(x, alpha), hn::Zero(d), x);
  });
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(AbsoluteRun);
HWY_EXPORT(NegativeRun);
HWY_EXPORT(SignRun);
HWY_EXPORT(ReciprocalRun);
HWY_EXPORT(FloorRun);
HWY_EXPORT(CeilRun);
HWY_EXPORT(RoundRun);
HWY_EXPORT(LogRun);
HWY_EXPORT(SinRun);
HWY_EXPORT(CosRun);
HWY_EXPORT(AtanRun);
HWY_EXPORT(SoftplusRun);
HWY_EXPORT(SoftsignRun);
HWY_EXPORT(SeluRun);
HWY_EXPORT(CeluRun);
HWY_EXPORT(ThresholdedReluRun);

const Float32Mathematics& Float32Math() {
  static const Float32Mathematics functions = [] {
    // Without this the first entry taken from a table would choose again in every call.
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return Float32Mathematics{
        .absolute = HWY_DYNAMIC_DISPATCH(AbsoluteRun),
        .negative = HWY_DYNAMIC_DISPATCH(NegativeRun),
        .sign = HWY_DYNAMIC_DISPATCH(SignRun),
        .reciprocal = HWY_DYNAMIC_DISPATCH(ReciprocalRun),
        .floor = HWY_DYNAMIC_DISPATCH(FloorRun),
        .ceil = HWY_DYNAMIC_DISPATCH(CeilRun),
        .round = HWY_DYNAMIC_DISPATCH(RoundRun),
        .log = HWY_DYNAMIC_DISPATCH(LogRun),
        .sin = HWY_DYNAMIC_DISPATCH(SinRun),
        .cos = HWY_DYNAMIC_DISPATCH(CosRun),
        .atan = HWY_DYNAMIC_DISPATCH(AtanRun),
        .softplus = HWY_DYNAMIC_DISPATCH(SoftplusRun),
        .softsign = HWY_DYNAMIC_DISPATCH(SoftsignRun),
        .selu = HWY_DYNAMIC_DISPATCH(SeluRun),
        .celu = HWY_DYNAMIC_DISPATCH(CeluRun),
        .thresholded_relu = HWY_DYNAMIC_DISPATCH(ThresholdedReluRun),
    };
  }();
  return functions;
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
