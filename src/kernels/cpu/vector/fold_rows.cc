#include "kernels/cpu/vector/fold_rows.h"

#include <limits>
#include <type_traits>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/fold_rows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// What one element changes in a total; `kJoin` is how totals of parts become one.
template <RowFold kFold>
struct FoldStep {
  static constexpr bool kSums = kFold == RowFold::kMagnitudes || kFold == RowFold::kSquares;
  static constexpr RowFold kJoin = kSums ? RowFold::kSum : kFold;

  template <typename T>
  static constexpr T Start() {
    if (kFold == RowFold::kMax) return std::numeric_limits<T>::lowest();
    if (kFold == RowFold::kMin) return std::numeric_limits<T>::max();
    return kFold == RowFold::kProduct ? T{1} : T{0};
  }

  template <typename V>
  static HWY_INLINE V Take(V total, V x) {
    constexpr bool kFloat = std::is_floating_point_v<hn::TFromV<V>>;
    if constexpr (kFold == RowFold::kSum) return hn::Add(total, x);
    if constexpr (kFold == RowFold::kProduct) return hn::Mul(total, x);
    if constexpr (kFold == RowFold::kMagnitudes) return hn::Add(total, hn::Abs(x));
    if constexpr (kFold == RowFold::kSquares && kFloat) return hn::MulAdd(x, x, total);
    if constexpr (kFold == RowFold::kSquares && !kFloat) return hn::Add(total, hn::Mul(x, x));
    if constexpr (kFold == RowFold::kMax && !kFloat) return hn::Max(total, x);
    if constexpr (kFold == RowFold::kMin && !kFloat) return hn::Min(total, x);
    if constexpr (kFold == RowFold::kMax && kFloat) {
      return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(x, total)), x, total);
    }
    if constexpr (kFold == RowFold::kMin && kFloat) {
      return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(x, total)), x, total);
    }
  }
};

// A vector of totals and fewer elements than two vectors have become one total: halves of it join,
// and each size of vectors takes what it can.
template <RowFold kFold, typename D, typename T>
HWY_INLINE T FoldLanes(D d, hn::Vec<D> totals, const T* x, int64_t count) {
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  if (count >= width) {
    totals = FoldStep<kFold>::Take(totals, hn::LoadU(d, x));
    x += width;
    count -= width;
  }
#if HWY_TARGET != HWY_SCALAR  // which has no halves
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    const auto joined = FoldStep<FoldStep<kFold>::kJoin>::Take(hn::LowerHalf(half, totals),
                                                               hn::UpperHalf(half, totals));
    return FoldLanes<kFold>(half, joined, x, count);
  }
#endif
  return hn::GetLane(totals);
}

template <RowFold kFold, typename T>
HWY_INLINE T FoldIntegers(const T* x, int64_t count) {
  using Step = FoldStep<kFold>;
  using Join = FoldStep<Step::kJoin>;
  const hn::ScalableTag<T> d;
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Set(d, Step::template Start<T>()), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * width <= count; i += 4 * width) {
    a = Step::Take(a, hn::LoadU(d, x + i));
    b = Step::Take(b, hn::LoadU(d, x + i + width));
    c = Step::Take(c, hn::LoadU(d, x + i + 2 * width));
    e = Step::Take(e, hn::LoadU(d, x + i + 3 * width));
  }
  for (; i + width <= count; i += width) a = Step::Take(a, hn::LoadU(d, x + i));
  return FoldLanes<kFold>(d, Join::Take(Join::Take(a, b), Join::Take(c, e)), x + i, count - i);
}

// The totals of kVectors vectors stay in registers while all rows pass.
template <RowFold kFold, int kVectors, typename D, typename T>
HWY_INLINE void FoldVectors(D d, const T* x, int64_t stride, int64_t rows, T* totals) {
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, totals + v * width);
  for (int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = FoldStep<kFold>::Take(sums[v], hn::LoadU(d, x + row * stride + v * width));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, totals + v * width);
}

// What fills no vector is left to vectors of half the lanes.
template <RowFold kFold, typename D, typename T>
HWY_INLINE void FoldInto(D d, const T* x, int64_t stride, int64_t rows, int64_t count, T* totals) {
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * width <= count; i += 4 * width) {
    FoldVectors<kFold, 4>(d, x + i, stride, rows, totals + i);
  }
  if (i + 2 * width <= count) {
    FoldVectors<kFold, 2>(d, x + i, stride, rows, totals + i);
    i += 2 * width;
  }
  if (i + width <= count) {
    FoldVectors<kFold, 1>(d, x + i, stride, rows, totals + i);
    i += width;
  }
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (i < count) {
      FoldInto<kFold>(hn::Half<D>(), x + i, stride, rows, count - i, totals + i);
    }
  }
}

// run.operator()<fold>() for the fold that the caller names.
template <typename Run>
HWY_INLINE auto VisitFold(RowFold fold, const Run& run) {
  switch (fold) {
    case RowFold::kSum:
      return run.template operator()<RowFold::kSum>();
    case RowFold::kProduct:
      return run.template operator()<RowFold::kProduct>();
    case RowFold::kMax:
      return run.template operator()<RowFold::kMax>();
    case RowFold::kMin:
      return run.template operator()<RowFold::kMin>();
    case RowFold::kMagnitudes:
      return run.template operator()<RowFold::kMagnitudes>();
    default:
      return run.template operator()<RowFold::kSquares>();
  }
}

int32_t FoldInt32s(RowFold fold, const int32_t* x, int64_t count) {
  return VisitFold(fold, [&]<RowFold kFold>() HWY_ATTR { return FoldIntegers<kFold>(x, count); });
}
int64_t FoldInt64s(RowFold fold, const int64_t* x, int64_t count) {
  return VisitFold(fold, [&]<RowFold kFold>() HWY_ATTR { return FoldIntegers<kFold>(x, count); });
}
void FoldFloatRows(RowFold fold, const float* x, int64_t stride, int64_t rows, int64_t count,
                   float* totals) {
  VisitFold(fold, [&]<RowFold kFold>() HWY_ATTR {
    FoldInto<kFold>(hn::ScalableTag<float>(), x, stride, rows, count, totals);
  });
}
void FoldInt32Rows(RowFold fold, const int32_t* x, int64_t stride, int64_t rows, int64_t count,
                   int32_t* totals) {
  VisitFold(fold, [&]<RowFold kFold>() HWY_ATTR {
    FoldInto<kFold>(hn::ScalableTag<int32_t>(), x, stride, rows, count, totals);
  });
}
void FoldInt64Rows(RowFold fold, const int64_t* x, int64_t stride, int64_t rows, int64_t count,
                   int64_t* totals) {
  VisitFold(fold, [&]<RowFold kFold>() HWY_ATTR {
    FoldInto<kFold>(hn::ScalableTag<int64_t>(), x, stride, rows, count, totals);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(FoldInt32s);
HWY_EXPORT(FoldInt64s);
HWY_EXPORT(FoldFloatRows);
HWY_EXPORT(FoldInt32Rows);
HWY_EXPORT(FoldInt64Rows);

int32_t FoldRow(RowFold fold, const int32_t* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(FoldInt32s)(fold, x, count);
}
int64_t FoldRow(RowFold fold, const int64_t* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(FoldInt64s)(fold, x, count);
}
void FoldRowsInto(RowFold fold, const float* x, int64_t stride, int64_t rows, int64_t count,
                  float* totals) {
  HWY_DYNAMIC_DISPATCH(FoldFloatRows)(fold, x, stride, rows, count, totals);
}
void FoldRowsInto(RowFold fold, const int32_t* x, int64_t stride, int64_t rows, int64_t count,
                  int32_t* totals) {
  HWY_DYNAMIC_DISPATCH(FoldInt32Rows)(fold, x, stride, rows, count, totals);
}
void FoldRowsInto(RowFold fold, const int64_t* x, int64_t stride, int64_t rows, int64_t count,
                  int64_t* totals) {
  HWY_DYNAMIC_DISPATCH(FoldInt64Rows)(fold, x, stride, rows, count, totals);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
