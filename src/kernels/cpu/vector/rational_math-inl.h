// Tanh and sigmoid as ratios of two polynomials, for layers that must round as ONNX Runtime's do:
// terms and their order are its own, and results are its to the last bit.
#if defined(PLIMSOLL_KERNELS_CPU_RATIONAL_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLIMSOLL_KERNELS_CPU_RATIONAL_MATH_INL_H_
#undef PLIMSOLL_KERNELS_CPU_RATIONAL_MATH_INL_H_
#else
#define PLIMSOLL_KERNELS_CPU_RATIONAL_MATH_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/vector/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

// x above(x^2) / below(x^2), with x kept to `limit` on both sides.
template <class D, class V = hn::Vec<D>, size_t kAbove, size_t kBelow>
HWY_INLINE V Ratio(D d, V x, float limit, const float (&above)[kAbove],
                   const float (&below)[kBelow]) {
  const V kept = AtMost(d, limit, AtLeast(d, -limit, x));
  const V square = hn::Mul(kept, kept);
  return hn::Div(hn::Mul(Polynomial(d, square, above), kept), Polynomial(d, square, below));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V RationalTanh(D d, V x) {
  static constexpr float kAbove[] = {
      4.89352455891786e-03f,  6.37261928875436e-04f, 1.48572235717979e-05f, 5.12229709037114e-08f,
      -8.60467152213735e-11f, 2.00018790482477e-13f, -2.76076847742355e-16f};
  static constexpr float kBelow[] = {4.89352518554385e-03f, 2.26843463243900e-03f,
                                     1.18534705686654e-04f, 1.19825839466702e-06f};
  return Ratio(d, x, 9.0f, kAbove, kBelow);
}

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

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
