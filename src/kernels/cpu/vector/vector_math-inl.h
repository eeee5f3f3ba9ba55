// Mathematical functions over Highway's float vectors, compiled once for each instruction set: the
// guard below is Highway's, which lets every target in once. Polynomials are our own minimax fits;
// each comment gives the largest relative error of the fit itself.
#if defined(PLIMSOLL_KERNELS_CPU_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_KERNELS_CPU_VECTOR_MATH_INL_H_
#undef PLIMSOLL_KERNELS_CPU_VECTOR_MATH_INL_H_
#else
#define PLIMSOLL_KERNELS_CPU_VECTOR_MATH_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// c[0] + c[1] x + ... by Horner's rule.
template <class D, class V = hn::Vec<D>, size_t kTerms>
HWY_INLINE V Polynomial(D d, V x, const float (&c)[kTerms]) {
  V sum = hn::Set(d, c[kTerms - 1]);
  for (size_t i = kTerms - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

// 2^n for whole n from -126 to 127.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowerOfTwo(D d, hn::Vec<hn::RebindToSigned<D>> n) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

// The whole number nearest to x / ln 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V WholePowers(D d, V x) {
  return hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
}

// e^r - 1 for what is left of x: r = x - whole ln 2, at most half of ln 2. Error 1.4e-8.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpMinusOneOfRest(D d, V x, V whole) {
  static constexpr float kTerms[] = {0.49999997f, 0.16666543f, 0.0416672f, 0.008366514f,
                                     0.0013882522f};
  // ln 2 in two parts; the first has so few bits that its products are exact.
  V r = hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4f), r);
  return hn::MulAdd(hn::Mul(r, r), Polynomial(d, r, kTerms), r);
}

// Whether Max and Min give their second operand where one of them is NaN.
constexpr bool kBoundsKeepNan = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

// No smaller than `least`; NaN stays NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtLeast(D d, float least, V x) {
  const V bound = hn::Set(d, least);
  return kBoundsKeepNan ? hn::Max(bound, x) : hn::IfThenElse(hn::Lt(x, bound), bound, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V AtMost(D d, float most, V x) {
  const V bound = hn::Set(d, most);
  return kBoundsKeepNan ? hn::Min(bound, x) : hn::IfThenElse(hn::Gt(x, bound), bound, x);
}

// Whether TimesPowerOfTwo reaches every result, rounded once.
constexpr bool kScalesToAnyNumber = HWY_TARGET == HWY_AVX3;

// x times 2^n for whole n, elsewhere from -126 to 127, and infinity for 128.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesPowerOfTwo(D d, V x, V n) {
#if HWY_TARGET == HWY_AVX3
  static_cast<void>(d);
  if constexpr (sizeof(V) == sizeof(__m512)) return V{_mm512_scalef_ps(x.raw, n.raw)};
  if constexpr (sizeof(V) == sizeof(__m256)) return V{_mm256_scalef_ps(x.raw, n.raw)};
  if constexpr (sizeof(V) == sizeof(__m128)) return V{_mm_scalef_ps(x.raw, n.raw)};
#else
  return hn::Mul(x, PowerOfTwo(d, hn::ConvertTo(hn::RebindToSigned<D>(), n)));
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const V bounded = AtLeast(d, -104.0f, x);
  // Beyond 129 the rest is no longer small, but then the result is infinite anyway.
  const V whole = hn::Min(WholePowers(d, bounded), hn::Set(d, 129.0f));
  const V y = hn::Add(ExpMinusOneOfRest(d, bounded, whole), hn::Set(d, 1.0f));
  if (kScalesToAnyNumber) return TimesPowerOfTwo(d, y, whole);
  // In two steps, so that results beyond the normal numbers are reached.
  const auto n = hn::ConvertTo(hn::RebindToSigned<D>(), whole);
  const auto half = hn::ShiftRight<1>(n);
  return hn::Mul(hn::Mul(y, PowerOfTwo(d, half)), PowerOfTwo(d, hn::Sub(n, half)));
}

// e^x for x from -87 on; infinity from 88.4 on.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOfNormal(D d, V x) {
  const V whole = hn::Min(WholePowers(d, x), hn::Set(d, 128.0f));
  return TimesPowerOfTwo(d, hn::Add(ExpMinusOneOfRest(d, x, whole), hn::Set(d, 1.0f)), whole);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V two = hn::Set(d, 2.0f);
  // From 10 on the result is 1.
  const V doubled = hn::Mul(AtMost(d, 10.0f, hn::Abs(x)), two);
  const V whole = WholePowers(d, doubled);
  const V one = hn::Set(d, 1.0f);
  const V scale = TimesPowerOfTwo(d, one, whole);
  const V minus_one = hn::MulAdd(ExpMinusOneOfRest(d, doubled, whole), scale, hn::Sub(scale, one));
  return hn::CopySign(hn::Div(minus_one, hn::Add(minus_one, two)), x);
}

// y / (1 + e^minus_x).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesSigmoid(D d, V y, V minus_x) {
  return hn::Div(y, hn::Add(hn::Set(d, 1.0f), ExpOfNormal(d, AtLeast(d, -87.0f, minus_x))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  return TimesSigmoid(d, hn::Set(d, 1.0f), hn::Neg(x));
}

// erfc(a) e^(a^2) for a from 0 to 10.5. Error 2e-8.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ScaledErfc(D d, V a) {
  static constexpr float kTerms[] = {0.16918744f, 0.17072333f,   0.14828922f,
                                     0.21509717f, -0.095007464f, 0.5481843f,
                                     -0.5126469f, 0.48572704f,   -0.12955411f};
  const V one = hn::Set(d, 1.0f);
  const V t = hn::Div(one, hn::MulAdd(a, hn::Set(d, 0.3f), one));
  return hn::Mul(t, Polynomial(d, t, kTerms));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Erf(D d, V x) {
  // erf(x) / x over the square of x up to 1. Error 4e-8.
  static constexpr float kNear[] = {1.1283791f,   -0.37612325f,  0.1128018f,
                                    -0.02671131f, 0.0049175513f, -0.0005631422f};
  // The logarithm of erfc from 1 to 4, from where on erf is 1. Error 1.6e-8 of erf.
  static constexpr float kFar[] = {-0.002671718f, -1.1174384f,   -0.65448904f,
                                   -0.08863412f,  0.0147781009f, -0.0011504195f};
  const V one = hn::Set(d, 1.0f);
  const V size = AtMost(d, 4.0f, hn::Abs(x));
  const V near_zero = hn::Mul(size, Polynomial(d, hn::Mul(size, size), kNear));
  const V far = hn::Sub(one, ExpOfNormal(d, Polynomial(d, size, kFar)));
  return hn::CopySign(hn::IfThenElse(hn::Gt(size, one), far, near_zero), x);
}

// x erfc(-x / sqrt 2) / 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Gelu(D d, V x) {
  const V half = hn::Set(d, 0.5f);
  const V size = AtMost(d, 13.0f, hn::Abs(x));
  // e^(-x^2 / 2), with the square's rounding error made good where there are fused products.
  const V square = hn::Mul(size, size);
  const V rounded_off = hn::Mul(half, hn::MulSub(size, size, square));
  const V coarse = ExpOfNormal(d, hn::Mul(hn::Set(d, -0.5f), square));
  const V gauss = hn::NegMulAdd(coarse, rounded_off, coarse);
  const V erfc = hn::Mul(ScaledErfc(d, hn::Mul(size, hn::Set(d, 0.70710678f))), gauss);
  // From 13 on the tail is too small for any x to show it.
  const V tail = hn::IfThenElse(hn::Eq(size, hn::Set(d, 13.0f)), hn::Zero(d), hn::Mul(half, erfc));
  const V share = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
  return hn::Mul(x, share);
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
