#include "kernels/cpu/elementwise/float32_functions.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/float32_functions.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/elementwise/transform-inl.h"
#include "kernels/cpu/vector/registers-inl.h"
#include "kernels/cpu/vector/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

// min(1, max(0, alpha x + beta)), in two steps as in ONNX Runtime.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V HardSigmoid(D d, V x, const Coefficients& c) {
  V product = hn::Mul(hn::Set(d, static_cast<float>(c.alpha)), x);
  RoundHere(product);
  const V line = hn::Add(product, hn::Set(d, static_cast<float>(c.beta)));
  const V low = hn::IfThenElse(hn::Lt(line, hn::Zero(d)), hn::Zero(d), line);
  const V one = hn::Set(d, 1.0f);
  return hn::IfThenElse(hn::Gt(low, one), one, low);
}

void SquareRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Mul(x, x); });
}

void CubeRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Mul(hn::Mul(x, x), x); });
}

void SquareRootRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto, auto x) HWY_ATTR { return hn::Sqrt(x); });
}

void ExpRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return Exp(d, x); });
}

void ErfRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return Erf(d, x); });
}

void TanhRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return Tanh(d, x); });
}

void SigmoidRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return Sigmoid(d, x); });
}

void GeluRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return Gelu(d, x); });
}

// x (1 + tanh u) / 2 is x sigmoid(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3).
void TanhGeluRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR {
    const auto cube = hn::Mul(hn::Set(d, -0.044715f * 1.59576912f), hn::Mul(x, hn::Mul(x, x)));
    return TimesSigmoid(d, x, hn::MulAdd(hn::Set(d, -1.59576912f), x, cube));
  });
}

void SwishRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR {
    return TimesSigmoid(d, x, hn::Mul(hn::Set(d, static_cast<float>(-c.alpha)), x));
  });
}

void ReluRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  });
}

void LeakyReluRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR {
    const auto slope = hn::Set(d, static_cast<float>(c.alpha));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, slope), x);
  });
}

void HardSigmoidRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR { return HardSigmoid(d, x, c); });
}

void HardSwishRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count,
            [&c](auto d, auto x) HWY_ATTR { return hn::Mul(x, HardSigmoid(d, x, c)); });
}

void ClipRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR {
    const auto low = hn::Set(d, static_cast<float>(c.alpha));
    const auto high = hn::Set(d, static_cast<float>(c.beta));
    const auto raised = hn::IfThenElse(hn::Lt(x, low), low, x);
    return hn::IfThenElse(hn::Gt(raised, high), high, raised);
  });
}

// exp(x) - 1 is tanh(x / 2) (exp(x) + 1), which loses nothing near 0.
void EluRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR {
    const auto half = Tanh(d, hn::Mul(x, hn::Set(d, 0.5f)));
    const auto power = hn::Mul(half, hn::Add(Exp(d, x), hn::Set(d, 1.0f)));
    const auto below = hn::Mul(hn::Set(d, static_cast<float>(c.alpha)), power);
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, x);
  });
}

// The tanh is n / (n + 2) with n = e (e + 2) and e = exp(x); beyond 20 it is 1.
void MishRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR {
    const auto two = hn::Set(d, 2.0f);
    const auto most = hn::Set(d, 20.0f);
    const auto power = Exp(d, hn::IfThenElse(hn::Gt(x, most), most, x));
    const auto n = hn::Mul(power, hn::Add(power, two));
    return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
  });
}

void SigmoidStepsRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR { return RationalSigmoid(d, x); });
}

void SwishStepsRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  Transform(from, to, count, [&c](auto d, auto x) HWY_ATTR {
    const auto inner = hn::Mul(hn::Set(d, static_cast<float>(c.alpha)), x);
    return hn::Mul(x, RationalSigmoid(d, inner));
  });
}

// x (1 + curve) / 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluOfCurve(D d, V x, V curve) {
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), hn::Add(curve, hn::Set(d, 1.0f)));
}

void GeluStepsRun(const void* from, void* to, int64_t count, const Coefficients& c) {
  if (c.alpha != 0) {
    Transform(from, to, count, [](auto d, auto x) HWY_ATTR {
      return GeluOfCurve(d, x, Erf(d, hn::Div(x, hn::Set(d, 1.41421356f))));
    });
    return;
  }
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR {
    return GeluOfCurve(d, x, Erf(d, hn::Mul(x, hn::Set(d, 0.70710678f))));
  });
}

void TanhGeluStepsRun(const void* from, void* to, int64_t count, const Coefficients&) {
  Transform(from, to, count, [](auto d, auto x) HWY_ATTR {
    auto cube = hn::Mul(hn::Set(d, 0.044715f), hn::Mul(hn::Mul(x, x), x));
    RoundHere(cube);
    const auto inner = hn::Mul(hn::Set(d, 0.797884561f), hn::Add(x, cube));
    return GeluOfCurve(d, x, Tanh(d, inner));
  });
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(SquareRun);
HWY_EXPORT(CubeRun);
HWY_EXPORT(SquareRootRun);
HWY_EXPORT(ExpRun);
HWY_EXPORT(ErfRun);
HWY_EXPORT(TanhRun);
HWY_EXPORT(SigmoidRun);
HWY_EXPORT(GeluRun);
HWY_EXPORT(TanhGeluRun);
HWY_EXPORT(SwishRun);
HWY_EXPORT(ReluRun);
HWY_EXPORT(LeakyReluRun);
HWY_EXPORT(HardSigmoidRun);
HWY_EXPORT(HardSwishRun);
HWY_EXPORT(ClipRun);
HWY_EXPORT(EluRun);
HWY_EXPORT(MishRun);
HWY_EXPORT(SigmoidStepsRun);
HWY_EXPORT(GeluStepsRun);
HWY_EXPORT(TanhGeluStepsRun);
HWY_EXPORT(SwishStepsRun);

const Float32Functions& Float32() {
  static const Float32Functions functions = [] {
    // Without this the first entry taken from a table would choose again in every call.
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return Float32Functions{
        .square = HWY_DYNAMIC_DISPATCH(SquareRun),
        .cube = HWY_DYNAMIC_DISPATCH(CubeRun),
        .square_root = HWY_DYNAMIC_DISPATCH(SquareRootRun),
        .exp = HWY_DYNAMIC_DISPATCH(ExpRun),
        .erf = HWY_DYNAMIC_DISPATCH(ErfRun),
        .tanh = HWY_DYNAMIC_DISPATCH(TanhRun),
        .sigmoid = HWY_DYNAMIC_DISPATCH(SigmoidRun),
        .gelu = HWY_DYNAMIC_DISPATCH(GeluRun),
        .tanh_gelu = HWY_DYNAMIC_DISPATCH(TanhGeluRun),
        .swish = HWY_DYNAMIC_DISPATCH(SwishRun),
        .relu = HWY_DYNAMIC_DISPATCH(ReluRun),
        .leaky_relu = HWY_DYNAMIC_DISPATCH(LeakyReluRun),
        .hard_sigmoid = HWY_DYNAMIC_DISPATCH(HardSigmoidRun),
        .hard_swish = HWY_DYNAMIC_DISPATCH(HardSwishRun),
        .clip = HWY_DYNAMIC_DISPATCH(ClipRun),
        .elu = HWY_DYNAMIC_DISPATCH(EluRun),
        .mish = HWY_DYNAMIC_DISPATCH(MishRun),
        .steps = {.sigmoid = HWY_DYNAMIC_DISPATCH(SigmoidStepsRun),
                  .gelu = HWY_DYNAMIC_DISPATCH(GeluStepsRun),
                  .tanh_gelu = HWY_DYNAMIC_DISPATCH(TanhGeluStepsRun),
                  .swish = HWY_DYNAMIC_DISPATCH(SwishStepsRun)},
    };
  }();
  return functions;
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
