#include "kernels/cpu/vector/float_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/float_rows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/vector/vector_math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::ScalableTag<float>;
using Vector = hn::Vec<Vectors>;
constexpr Vectors kVectors;

// The first `count` lanes from memory, the others `filler`. Highway counts all masked loads of AVX2
// as such that may fault, since those of bytes do; those of floats do not.
HWY_INLINE Vector LoadSome(const float* x, int64_t count, float filler) {
#if HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_AVX2
  HWY_ALIGN float lanes[hn::MaxLanes(kVectors)];
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  for (int64_t i = 0; i < width; ++i) lanes[i] = i < count ? x[i] : filler;
  return hn::Load(kVectors, lanes);
#else
  const auto some = hn::FirstN(kVectors, static_cast<size_t>(count));
  return hn::IfThenElse(some, hn::MaskedLoad(some, kVectors, x), hn::Set(kVectors, filler));
#endif
}

HWY_INLINE void StoreSome(Vector value, int64_t count, float* y) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float lanes[hn::MaxLanes(kVectors)];
  hn::Store(value, kVectors, lanes);
  for (int64_t i = 0; i < count; ++i) y[i] = lanes[i];
#else
  hn::BlendedStore(value, hn::FirstN(kVectors, static_cast<size_t>(count)), kVectors, y);
#endif
}

// Folds `step(total, x)` over a row with four totals at a time, joined by `join`. `filler` changes
// no total.
template <typename Step, typename Join>
HWY_INLINE Vector Fold(const float* x, int64_t count, float start, float filler, const Step& step,
                       const Join& join) {
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  Vector a = hn::Set(kVectors, start), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * width <= count; i += 4 * width) {
    a = step(a, hn::LoadU(kVectors, x + i));
    b = step(b, hn::LoadU(kVectors, x + i + width));
    c = step(c, hn::LoadU(kVectors, x + i + 2 * width));
    d = step(d, hn::LoadU(kVectors, x + i + 3 * width));
  }
  for (; i + width <= count; i += width) a = step(a, hn::LoadU(kVectors, x + i));
  if (i < count) b = step(b, LoadSome(x + i, count - i, filler));
  return join(join(a, b), join(c, d));
}

// Sums piece by piece, the pieces in double, so that long rows lose nothing.
template <typename Step>
HWY_INLINE float SumOf(const float* x, int64_t count, float filler, const Step& step) {
  constexpr int64_t kPiece = 4096;
  double total = 0;
  for (int64_t i = 0; i < count; i += kPiece) {
    const Vector piece = Fold(x + i, std::min(kPiece, count - i), 0.0f, filler, step,
                              [](Vector a, Vector b) { return hn::Add(a, b); });
    total += hn::GetLane(hn::SumOfLanes(kVectors, piece));
  }
  return static_cast<float>(total);
}

// y = map(x)
template <typename Map>
HWY_INLINE void MapRow(const float* x, int64_t count, float* y, const Map& map) {
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  if (count < width) {
    if (count > 0) StoreSome(map(LoadSome(x, count, 0.0f)), count, y);
    return;
  }
  // The last vector reaches back over results, and so is read before any of them is written.
  const Vector last = hn::LoadU(kVectors, x + count - width);
  for (int64_t i = 0; i + width < count; i += width) {
    hn::StoreU(map(hn::LoadU(kVectors, x + i)), kVectors, y + i);
  }
  hn::StoreU(map(last), kVectors, y + count - width);
}

// y = map(rows...)
template <typename Map, typename... Rows>
HWY_INLINE void MapRows(int64_t count, float* y, const Map& map, Rows... rows) {
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    hn::StoreU(map(hn::LoadU(kVectors, rows + i)...), kVectors, y + i);
  }
  if (i < count) StoreSome(map(LoadSome(rows + i, count - i, 0.0f)...), count - i, y + i);
}

float Sum(const float* x, int64_t count) {
  return SumOf(x, count, 0.0f, [](Vector total, Vector v) { return hn::Add(total, v); });
}

float SumOfMagnitudes(const float* x, int64_t count) {
  return SumOf(x, count, 0.0f, [](Vector total, Vector v) { return hn::Add(total, hn::Abs(v)); });
}

float Product(const float* x, int64_t count) {
  const auto times = [](Vector a, Vector b) { return hn::Mul(a, b); };
  HWY_ALIGN float lanes[hn::MaxLanes(kVectors)];
  hn::Store(Fold(x, count, 1.0f, 1.0f, times, times), kVectors, lanes);
  float product = lanes[0];
  for (size_t i = 1; i < hn::Lanes(kVectors); ++i) product *= lanes[i];
  return product;
}

float SumOfSquares(const float* x, int64_t count, float center) {
  const Vector shift = hn::Set(kVectors, center);
  return SumOf(x, count, center, [shift](Vector total, Vector v) {
    const Vector distance = hn::Sub(v, shift);
    return hn::MulAdd(distance, distance, total);
  });
}

float Dot(const float* a, const float* b, int64_t count) {
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  Vector first = hn::Zero(kVectors), second = first;
  int64_t i = 0;
  for (; i + 2 * width <= count; i += 2 * width) {
    first = hn::MulAdd(hn::LoadU(kVectors, a + i), hn::LoadU(kVectors, b + i), first);
    second =
        hn::MulAdd(hn::LoadU(kVectors, a + i + width), hn::LoadU(kVectors, b + i + width), second);
  }
  for (; i + width <= count; i += width) {
    first = hn::MulAdd(hn::LoadU(kVectors, a + i), hn::LoadU(kVectors, b + i), first);
  }
  float total = hn::GetLane(hn::SumOfLanes(kVectors, hn::Add(first, second)));
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

// The larger of two, NaN if either is.
HWY_INLINE Vector Larger(Vector a, Vector b) {
  return hn::IfThenElse(hn::IsNaN(b), b, hn::IfThenElse(hn::Lt(a, b), b, a));
}
HWY_INLINE Vector Smaller(Vector a, Vector b) {
  return hn::IfThenElse(hn::IsNaN(b), b, hn::IfThenElse(hn::Gt(a, b), b, a));
}

float Max(const float* x, int64_t count) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const Vector folded = Fold(x, count, kLowest, kLowest, Larger, Larger);
  if (hn::AllFalse(kVectors, hn::IsNaN(folded))) {
    return hn::GetLane(hn::MaxOfLanes(kVectors, folded));
  }
  HWY_ALIGN float lanes[hn::MaxLanes(kVectors)];
  hn::Store(folded, kVectors, lanes);
  float largest = kLowest;
  for (size_t i = 0; i < hn::Lanes(kVectors); ++i) {
    if (lanes[i] > largest || lanes[i] != lanes[i]) largest = lanes[i];
  }
  return largest;
}

float Min(const float* x, int64_t count) {
  constexpr float kHighest = std::numeric_limits<float>::infinity();
  const Vector folded = Fold(x, count, kHighest, kHighest, Smaller, Smaller);
  if (hn::AllFalse(kVectors, hn::IsNaN(folded))) {
    return hn::GetLane(hn::MinOfLanes(kVectors, folded));
  }
  HWY_ALIGN float lanes[hn::MaxLanes(kVectors)];
  hn::Store(folded, kVectors, lanes);
  float smallest = kHighest;
  for (size_t i = 0; i < hn::Lanes(kVectors); ++i) {
    if (lanes[i] < smallest || lanes[i] != lanes[i]) smallest = lanes[i];
  }
  return smallest;
}

void Affine(const float* x, int64_t count, float factor, float offset, float* y) {
  const Vector times = hn::Set(kVectors, factor);
  const Vector plus = hn::Set(kVectors, offset);
  MapRow(x, count, y, [=](Vector v) { return hn::MulAdd(v, times, plus); });
}

void AffineSteps(const float* x, int64_t count, float addend, float factor, float offset,
                 float* y) {
  const Vector before = hn::Set(kVectors, addend);
  const Vector times = hn::Set(kVectors, factor);
  const Vector plus = hn::Set(kVectors, offset);
  // Each pass rounds: no product is fused with a sum.
  MapRow(x, count, y, [=](Vector v) { return hn::Mul(hn::Add(v, before), times); });
  MapRow(y, count, y, [=](Vector v) { return hn::Add(v, plus); });
}

void Normalize(const float* x, int64_t count, float mean, float factor, const float* scale,
               const float* bias, float* y) {
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  const Vector center = hn::Set(kVectors, mean);
  const Vector times = hn::Set(kVectors, factor);
  if (scale == nullptr && bias == nullptr) {
    return MapRow(x, count, y, [=](Vector v) { return hn::Mul(hn::Sub(v, center), times); });
  }
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    Vector v = hn::Mul(hn::Sub(hn::LoadU(kVectors, x + i), center), times);
    const Vector shift = bias != nullptr ? hn::LoadU(kVectors, bias + i) : hn::Zero(kVectors);
    v = scale != nullptr ? hn::MulAdd(v, hn::LoadU(kVectors, scale + i), shift) : hn::Add(v, shift);
    hn::StoreU(v, kVectors, y + i);
  }
  for (; i < count; ++i) {
    const float normalized = (x[i] - mean) * factor;
    y[i] = normalized * (scale != nullptr ? scale[i] : 1.0f) + (bias != nullptr ? bias[i] : 0.0f);
  }
}

// e^x for x at most 0, with less to look after than Exp has; NaN gives NaN.
HWY_INLINE Vector ExpOfNegative(Vector x) {
  const Vector least = hn::Set(kVectors, -87.0f);
  return hn::IfThenZeroElse(hn::Lt(x, least), ExpOfNormal(kVectors, hn::Max(least, x)));
}

// The largest element, NaN overlooked: the sum of exponentials will show it.
HWY_INLINE float LargestOf(const float* x, int64_t count) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const auto larger = [](Vector a, Vector b) { return hn::Max(b, a); };
  const Vector largest = Fold(x, count, kLowest, kLowest, larger, larger);
  return hn::GetLane(hn::MaxOfLanes(kVectors, largest));
}

// The sum of all lanes in the order of ONNX Runtime's softmax: the halves of 16 lanes, neighbours,
// then pairs of them.
HWY_INLINE float SumOfNeighbours(Vector sums) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if (hn::Lanes(kVectors) == 16) sums = hn::Add(sums, hn::ConcatLowerUpper(kVectors, sums, sums));
  sums = hn::Add(sums, hn::Shuffle2301(sums));
  sums = hn::Add(sums, hn::Shuffle1032(sums));
  return hn::GetLane(hn::Add(sums, hn::ReverseBlocks(kVectors, sums)));
#else
  return hn::GetLane(hn::SumOfLanes(kVectors, sums));
#endif
}

float Softmax(const float* x, int64_t count, float* y) {
  const float largest = LargestOf(x, count);
  if (!(largest - largest == 0)) return largest;  // not finite
  const auto width = static_cast<int64_t>(hn::Lanes(kVectors));
  const Vector minus = hn::Set(kVectors, largest);
  Vector sums = hn::Zero(kVectors);
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    const Vector v = ExpOfNegative(hn::Sub(hn::LoadU(kVectors, x + i), minus));
    sums = hn::Add(sums, v);
    hn::StoreU(v, kVectors, y + i);
  }
  if (i < count) {
    constexpr float kLowest = -std::numeric_limits<float>::infinity();
    const Vector v = ExpOfNegative(hn::Sub(LoadSome(x + i, count - i, kLowest), minus));
    sums = hn::Add(sums, v);
    StoreSome(v, count - i, y + i);
  }
  const Vector times = hn::Set(kVectors, 1.0f / SumOfNeighbours(sums));
  MapRow(y, count, y, [times](Vector v) { return hn::Mul(v, times); });
  return largest;
}

float LogSoftmax(const float* x, int64_t count, float* y) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const float largest = LargestOf(x, count);
  if (!(largest - largest == 0)) return largest;  // not finite
  const Vector minus = hn::Set(kVectors, largest);
  const float sum = SumOf(x, count, kLowest, [minus](Vector total, Vector v) {
    return hn::Add(total, ExpOfNegative(hn::Sub(v, minus)));
  });
  const Vector less = hn::Set(kVectors, std::log(sum));
  MapRow(x, count, y, [=](Vector v) { return hn::Sub(hn::Sub(v, minus), less); });
  return largest;
}

float ExpSum(const float* x, int64_t count, float shift) {
  const Vector minus = hn::Set(kVectors, shift);
  // The filler's exponential is zero.
  return SumOf(x, count, -std::numeric_limits<float>::infinity(), [minus](Vector total, Vector v) {
    return hn::Add(total, Exp(kVectors, hn::Sub(v, minus)));
  });
}

void SoftCap(float* x, int64_t count, float cap) {
  const Vector times = hn::Set(kVectors, cap);
  MapRow(x, count, x, [=](Vector v) { return hn::Mul(times, Tanh(kVectors, hn::Div(v, times))); });
}

void AddTo(const float* x, int64_t count, float factor, float* y) {
  const Vector times = hn::Set(kVectors, factor);
  MapRows(
      count, y, [times](Vector v, Vector old) { return hn::MulAdd(v, times, old); }, x, y);
}

void ExpTo(const float* x, const float* shift, int64_t count, float* sums, float* y) {
  const auto map = [](Vector v, Vector minus) { return Exp(kVectors, hn::Sub(v, minus)); };
  MapRows(count, y, map, x, shift);
  AddTo(y, count, 1.0f, sums);
}

void MultiplyBy(const float* factor, int64_t count, float* y) {
  MapRows(
      count, y, [](Vector v, Vector old) { return hn::Mul(v, old); }, factor, y);
}

void Subtract(const float* x, const float* a, const float* b, int64_t count, float* y) {
  const auto map = [](Vector v, Vector u, Vector w) { return hn::Sub(hn::Sub(v, u), w); };
  MapRows(count, y, map, x, a, b);
}

void AddSquaredDistancesTo(const float* x, const float* centers, int64_t count, float* y) {
  const auto map = [](Vector v, Vector center, Vector old) {
    const Vector distance = hn::Sub(v, center);
    return hn::MulAdd(distance, distance, old);
  };
  MapRows(count, y, map, x, centers, y);
}

void Standardize(const float* x, const float* centers, const float* divisors, int64_t count,
                 float* y) {
  const auto map = [](Vector v, Vector center, Vector divisor) {
    return hn::Div(hn::Sub(v, center), divisor);
  };
  MapRows(count, y, map, x, centers, divisors);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(Sum);
HWY_EXPORT(SumOfMagnitudes);
HWY_EXPORT(Product);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(Dot);
HWY_EXPORT(Max);
HWY_EXPORT(Min);
HWY_EXPORT(Affine);
HWY_EXPORT(AffineSteps);
HWY_EXPORT(Normalize);
HWY_EXPORT(Softmax);
HWY_EXPORT(LogSoftmax);
HWY_EXPORT(ExpSum);
HWY_EXPORT(SoftCap);
HWY_EXPORT(AddTo);
HWY_EXPORT(ExpTo);
HWY_EXPORT(MultiplyBy);
HWY_EXPORT(Subtract);
HWY_EXPORT(AddSquaredDistancesTo);
HWY_EXPORT(Standardize);

float RowSum(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(Sum)(x, count); }
float RowSumOfMagnitudes(const float* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(SumOfMagnitudes)(x, count);
}
float RowProduct(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(Product)(x, count); }
float RowSumOfSquares(const float* x, int64_t count, float center) {
  return HWY_DYNAMIC_DISPATCH(SumOfSquares)(x, count, center);
}
float RowDot(const float* a, const float* b, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(Dot)(a, b, count);
}
float RowMax(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(Max)(x, count); }
float RowMin(const float* x, int64_t count) { return HWY_DYNAMIC_DISPATCH(Min)(x, count); }
void RowAffine(const float* x, int64_t count, float factor, float offset, float* y) {
  HWY_DYNAMIC_DISPATCH(Affine)(x, count, factor, offset, y);
}
void RowAffineSteps(const float* x, int64_t count, float addend, float factor, float offset,
                    float* y) {
  HWY_DYNAMIC_DISPATCH(AffineSteps)(x, count, addend, factor, offset, y);
}
void RowNormalize(const float* x, int64_t count, float mean, float factor, const float* scale,
                  const float* bias, float* y) {
  HWY_DYNAMIC_DISPATCH(Normalize)(x, count, mean, factor, scale, bias, y);
}
float RowSoftmax(const float* x, int64_t count, float* y) {
  return HWY_DYNAMIC_DISPATCH(Softmax)(x, count, y);
}
float RowLogSoftmax(const float* x, int64_t count, float* y) {
  return HWY_DYNAMIC_DISPATCH(LogSoftmax)(x, count, y);
}
float RowExpSum(const float* x, int64_t count, float shift) {
  return HWY_DYNAMIC_DISPATCH(ExpSum)(x, count, shift);
}
void RowSoftCap(float* x, int64_t count, float cap) {
  HWY_DYNAMIC_DISPATCH(SoftCap)(x, count, cap);
}
void RowAddTo(const float* x, int64_t count, float factor, float* y) {
  HWY_DYNAMIC_DISPATCH(AddTo)(x, count, factor, y);
}
void RowExpTo(const float* x, const float* shift, int64_t count, float* sums, float* y) {
  HWY_DYNAMIC_DISPATCH(ExpTo)(x, shift, count, sums, y);
}
void RowMultiplyBy(const float* factor, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(MultiplyBy)(factor, count, y);
}
void RowSubtract(const float* x, const float* a, const float* b, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(Subtract)(x, a, b, count, y);
}
void RowAddSquaredDistancesTo(const float* x, const float* centers, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(AddSquaredDistancesTo)(x, centers, count, y);
}
void RowStandardize(const float* x, const float* centers, const float* divisors, int64_t count,
                    float* y) {
  HWY_DYNAMIC_DISPATCH(Standardize)(x, centers, divisors, count, y);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
