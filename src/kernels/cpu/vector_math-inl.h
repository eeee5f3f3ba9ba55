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

// x = n ln 2 + r with |r| at most half of ln 2; gives e^r - 1 and sets n. Error 1.4e-8.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ReducedExpMinusOne(D d, V x, hn::Vec<hn::RebindToSigned<D>>& n) {
  static constexpr float kTerms[] = {0.49999997f, 0.16666543f, 0.0416672f, 0.008366514f,
                                     0.0013882522f};
  const V whole = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  // ln 2 in two parts; the first has so few bits that its products with n are exact.
  V r = hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4f), r);
  n = hn::ConvertTo(hn::RebindToSigned<D>(), whole);
  return hn::MulAdd(hn::Mul(r, r), Polynomial(d, r, kTerms), r);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const V bounded = hn::Max(hn::Set(d, -104.0f), hn::Min(hn::Set(d, 89.0f), x));
  hn::Vec<hn::RebindToSigned<D>> n;
  const V y = hn::Add(ReducedExpMinusOne(d, bounded, n), hn::Set(d, 1.0f));
  // In two steps, so that results beyond the normal numbers are reached.
  const auto half = hn::ShiftRight<1>(n);
  const V made = hn::Mul(hn::Mul(y, PowerOfTwo(d, half)), PowerOfTwo(d, hn::Sub(n, half)));
  return hn::IfThenElse(hn::Eq(x, x), made, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V two = hn::Set(d, 2.0f);
  // From 10 on the result is 1.
  const V size = hn::Min(hn::Set(d, 10.0f), hn::Abs(x));
  hn::Vec<hn::RebindToSigned<D>> n;
  const V reduced = ReducedExpMinusOne(d, hn::Mul(size, two), n);
  const V scale = PowerOfTwo(d, n);
  const V minus_one = hn::MulAdd(reduced, scale, hn::Sub(scale, hn::Set(d, 1.0f)));
  const V made = hn::CopySign(hn::Div(minus_one, hn::Add(minus_one, two)), x);
  return hn::IfThenElse(hn::Eq(x, x), made, x);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V small = Exp(d, hn::Neg(hn::Abs(x)));
  const V above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), small, one);
  return hn::Div(above, hn::Add(one, small));
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

// e^(-scale x^2), with the square's rounding error made good where the machine has fused products.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Gauss(D d, V x, float scale) {
  const V square = hn::Mul(x, x);
  const V rounded_off = hn::MulSub(x, x, square);
  const V coarse = Exp(d, hn::Mul(hn::Set(d, -scale), square));
  return hn::NegMulAdd(coarse, hn::Mul(hn::Set(d, scale), rounded_off), coarse);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Erf(D d, V x) {
  // erf(x) / x over the square of x up to 1. Error 4e-8.
  static constexpr float kTerms[] = {1.1283791f,   -0.37612325f,  0.1128018f,
                                     -0.02671131f, 0.0049175513f, -0.0005631422f};
  const V one = hn::Set(d, 1.0f);
  const V size = hn::Min(hn::Set(d, 10.0f), hn::Abs(x));
  const V near_zero = hn::Mul(size, Polynomial(d, hn::Mul(size, size), kTerms));
  const V far = hn::NegMulAdd(ScaledErfc(d, size), Gauss(d, size, 1.0f), one);
  const V made = hn::CopySign(hn::IfThenElse(hn::Lt(size, one), near_zero, far), x);
  return hn::IfThenElse(hn::Eq(x, x), made, x);
}

// x erfc(-x / sqrt 2) / 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Gelu(D d, V x) {
  const V half = hn::Set(d, 0.5f);
  // Beyond 14.5 the tail is below the smallest number.
  const V size = hn::Min(hn::Set(d, 14.5f), hn::Abs(x));
  const V tail = hn::Mul(
      half, hn::Mul(ScaledErfc(d, hn::Mul(size, hn::Set(d, 0.70710678f))), Gauss(d, size, 0.5f)));
  const V share = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
  return hn::Mul(x, share);
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
