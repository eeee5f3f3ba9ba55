// Mathematical functions over Highway's float vectors, compiled once for each instruction set: the
// guard below is Highway's, which lets every target in once. The terms of Exp, Erf, Tanh and
// RationalSigmoid, and the order of their steps, are ONNX Runtime's, and results are its to the
// last bit. Each comment gives the largest relative error of the fit itself.
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

// The whole number nearest to x / ln 2, for sizes of x below 2^21.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V WholePowers(D d, V x) {
  // Numbers as large as this one have no fraction.
  const V large = hn::Set(d, 0x1.8p23f);
  return hn::Sub(hn::MulAdd(x, hn::Set(d, 1.44269504f), large), large);
}

// What is left of x: x - whole ln 2, at most half of ln 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RestOfPowers(D d, V x, V whole) {
  // ln 2 in two parts; the first has so few bits that its products are exact.
  const V rest = hn::MulAdd(whole, hn::Set(d, -6.93145752e-1f), x);
  return hn::MulAdd(whole, hn::Set(d, -1.42860677e-6f), rest);
}

// e^x for such a rest. Error 5e-9.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOfRest(D d, V rest) {
  static constexpr float kTerms[] = {1.0f,           1.0f,           0x1.fffff6p-2f, 0x1.55545p-3f,
                                     0x1.555b5ap-5f, 0x1.125edcp-7f, 0x1.694p-10f};
  return Polynomial(d, rest, kTerms);
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
  const V y = ExpOfRest(d, RestOfPowers(d, bounded, whole));
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
  return TimesPowerOfTwo(d, ExpOfRest(d, RestOfPowers(d, x, whole)), whole);
}

// x above(x^2) / below(x^2), with x kept to `limit` on both sides.
template <class D, class V = hn::Vec<D>, size_t kAbove, size_t kBelow>
HWY_INLINE V Ratio(D d, V x, float limit, const float (&above)[kAbove],
                   const float (&below)[kBelow]) {
  const V kept = AtMost(d, limit, AtLeast(d, -limit, x));
  const V square = hn::Mul(kept, kept);
  return hn::Div(hn::Mul(Polynomial(d, square, above), kept), Polynomial(d, square, below));
}

// Error 2.6e-7.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  static constexpr float kAbove[] = {
      4.89352455891786e-03f,  6.37261928875436e-04f, 1.48572235717979e-05f, 5.12229709037114e-08f,
      -8.60467152213735e-11f, 2.00018790482477e-13f, -2.76076847742355e-16f};
  static constexpr float kBelow[] = {4.89352518554385e-03f, 2.26843463243900e-03f,
                                     1.18534705686654e-04f, 1.19825839466702e-06f};
  return Ratio(d, x, 9.0f, kAbove, kBelow);
}

// 1 / (1 + e^-x) as such a ratio, with absolute errors below 4e-7.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RationalSigmoid(D d, V x) {
  static constexpr float kAbove[] = {2.48287947061529e-01f, 8.51377133304701e-03f,
                                     6.08574864600143e-05f, 1.15627324459942e-07f,
                                     4.37031012579801e-11f};
  static constexpr float kBelow[] = {9.93151921023180e-01f, 1.16817656904453e-01f,
                                     1.70198817374094e-03f, 6.29106785017040e-06f,
                                     5.76102136993427e-09f, 6.10247389755681e-13f};
  const V y = hn::Add(Ratio(d, x, 18.0f, kAbove, kBelow), hn::Set(d, 0.5f));
  return AtMost(d, 1.0f, AtLeast(d, 0.0f, y));
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

// Error 6e-8.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Erf(D d, V x) {
  // erf(x) / x - 1 over the square of x.
  static constexpr float kNear[] = {1.28379151e-1f,  -3.76124859e-1f, 1.12818025e-1f,
                                    -2.67667342e-2f, 4.99339588e-3f,  -5.99104969e-4f};
  // -log(1 - erf(x)) / x - 1.
  static constexpr float kFar[] = {1.28717512e-1f, 6.34846687e-1f,  1.06777847e-1f, -2.42545605e-2f,
                                   3.88393435e-3f, -3.83208680e-4f, 1.72948930e-5f};
  // e^x over what is left of x: other terms than those of ExpOfRest.
  static constexpr float kTerms[] = {1.0f,           1.0f,           4.99999851e-1f, 1.66664466e-1f,
                                     4.16689515e-2f, 8.37550033e-3f, 1.38319808e-3f};
  const V size = AtMost(d, 3.925f, hn::Abs(x));
  const V near_zero = hn::MulAdd(Polynomial(d, hn::Mul(size, size), kNear), size, size);
  const V power = hn::Neg(hn::MulAdd(Polynomial(d, size, kFar), size, size));
  const V whole = WholePowers(d, power);
  const V gone = Polynomial(d, RestOfPowers(d, power, whole), kTerms);
  const V far = hn::Sub(hn::Set(d, 1.0f), TimesPowerOfTwo(d, gone, whole));
  const V y = hn::IfThenElse(hn::Gt(size, hn::Set(d, 0.921875f)), far, near_zero);
  return hn::CopySign(y, x);
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
