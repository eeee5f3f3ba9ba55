#include "kernels/cpu/vector/arg_rows.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/arg_rows.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The first `count` lanes from memory, the others 0. Highway counts all masked loads of AVX2 as
// such that may fault, since those of bytes do; those of wider elements do not.
template <typename D, typename T>
HWY_INLINE hn::Vec<D> LoadSome(D d, const T* x, int64_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_AVX2
  HWY_ALIGN T lanes[hn::MaxLanes(D())] = {};
  std::copy_n(x, count, lanes);
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, x);
#endif
}

// The best element of each lane so far, and where it lies.
template <bool kLargest, bool kLast, typename T>
struct BestLanes {
  using D = hn::ScalableTag<T>;
  using Places = hn::RebindToSigned<D>;
  hn::Vec<D> best;
  hn::Vec<Places> place;

  HWY_INLINE void Meet(hn::Vec<D> later, hn::Vec<Places> at) {
    const hn::Vec<D> more = kLargest ? later : best;
    const hn::Vec<D> less = kLargest ? best : later;
    auto replaces = hn::Gt(more, less);
    if constexpr (std::is_floating_point_v<T>) {
      const auto odd = hn::IsNaN(later);
      if (kLast) replaces = hn::Ge(more, less);
      replaces = hn::Or(replaces, kLast ? odd : hn::AndNot(hn::IsNaN(best), odd));
    } else if (kLast) {
      replaces = hn::Not(hn::Gt(less, more));
    }
    best = hn::IfThenElse(replaces, later, best);
    place = hn::IfThenElse(hn::RebindMask(Places(), replaces), at, place);
  }
};

template <typename T>
using ArgPlace = hn::TFromD<hn::RebindToSigned<hn::ScalableTag<T>>>;

// Those of one vector of columns.
template <bool kLargest, bool kLast, typename T, typename Load>
HWY_INLINE auto PlacesOf(int64_t length, const Load& load) {
  using Lanes = BestLanes<kLargest, kLast, T>;
  constexpr typename Lanes::Places kPlaces;
  Lanes lanes{load(0), hn::Zero(kPlaces)};
  for (int64_t i = 1; i < length; ++i) {
    lanes.Meet(load(i), hn::Set(kPlaces, static_cast<ArgPlace<T>>(i)));
  }
  return lanes.place;
}

template <bool kLargest, bool kLast, typename T>
void Columns(const T* first, int64_t stride, int64_t length, int64_t lanes, int64_t* places) {
  constexpr hn::ScalableTag<T> kElements;
  constexpr hn::RebindToSigned<hn::ScalableTag<T>> kPlaces;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(kElements));
  HWY_ALIGN ArgPlace<T> found[kLanes];
  int64_t lane = 0;
  // Of a row that is far from the next one, whole cache lines.
  constexpr int64_t kTogether = 4;
  for (; lane + kTogether * kLanes <= lanes; lane += kTogether * kLanes) {
    BestLanes<kLargest, kLast, T> best[kTogether];
#pragma GCC unroll 4
    for (int64_t v = 0; v < kTogether; ++v) {
      best[v] = {hn::LoadU(kElements, first + lane + v * kLanes), hn::Zero(kPlaces)};
    }
    for (int64_t i = 1; i < length; ++i) {
      const auto at = hn::Set(kPlaces, static_cast<ArgPlace<T>>(i));
#pragma GCC unroll 4
      for (int64_t v = 0; v < kTogether; ++v) {
        best[v].Meet(hn::LoadU(kElements, first + i * stride + lane + v * kLanes), at);
      }
    }
    for (int64_t v = 0; v < kTogether; ++v) {
      hn::Store(best[v].place, kPlaces, found);
      std::copy_n(found, kLanes, places + lane + v * kLanes);
    }
  }
  for (; lane < lanes; lane += kLanes) {
    const int64_t count = std::min(kLanes, lanes - lane);
    const auto load = [&](int64_t i) HWY_ATTR {
      const T* const from = first + i * stride + lane;
      return count == kLanes ? hn::LoadU(kElements, from) : LoadSome(kElements, from, count);
    };
    hn::Store(PlacesOf<kLargest, kLast, T>(length, load), kPlaces, found);
    std::copy_n(found, count, places + lane);
  }
}

// Whether an element at a place takes that of another, wherever each lies.
template <bool kLargest, bool kLast, typename T>
bool Beats(T one, int64_t at, T other, int64_t other_at) {
  const bool both_odd = one != one && other != other;
  if (one == other || both_odd) return kLast ? at > other_at : at < other_at;
  if (one != one || other != other) return one != one;
  return (one > other) == kLargest;
}

template <bool kLargest, bool kLast, typename T>
int64_t Row(const T* row, int64_t length) {
  using Lanes = BestLanes<kLargest, kLast, T>;
  constexpr typename Lanes::D kElements;
  constexpr typename Lanes::Places kPlaces;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(kElements));
  int64_t best = 0;
  int64_t done = 1;
  if (length >= kLanes) {
    const auto own = hn::Iota(kPlaces, 0);
    Lanes lanes{hn::LoadU(kElements, row), own};
    for (done = kLanes; done + kLanes <= length; done += kLanes) {
      lanes.Meet(hn::LoadU(kElements, row + done),
                 hn::Add(own, hn::Set(kPlaces, static_cast<ArgPlace<T>>(done))));
    }
    HWY_ALIGN ArgPlace<T> places[kLanes];
    hn::Store(lanes.place, kPlaces, places);
    best = places[0];
    for (const int64_t place : places) {
      if (Beats<kLargest, kLast>(row[place], place, row[best], best)) best = place;
    }
  }
  for (; done < length; ++done) {
    if (Beats<kLargest, kLast>(row[done], done, row[best], best)) best = done;
  }
  return best;
}

template <typename T>
HWY_INLINE void ColumnsInOrder(const T* first, int64_t stride, int64_t length, int64_t lanes,
                               ArgOrder order, int64_t* places) {
  if (order.largest) {
    order.last_of_equals ? Columns<true, true>(first, stride, length, lanes, places)
                         : Columns<true, false>(first, stride, length, lanes, places);
  } else {
    order.last_of_equals ? Columns<false, true>(first, stride, length, lanes, places)
                         : Columns<false, false>(first, stride, length, lanes, places);
  }
}

template <typename T>
HWY_INLINE int64_t RowInOrder(const T* row, int64_t length, ArgOrder order) {
  if (order.largest) {
    return order.last_of_equals ? Row<true, true>(row, length) : Row<true, false>(row, length);
  }
  return order.last_of_equals ? Row<false, true>(row, length) : Row<false, false>(row, length);
}

void ColumnsOfFloats(const float* first, int64_t stride, int64_t length, int64_t lanes,
                     ArgOrder order, int64_t* places) {
  ColumnsInOrder(first, stride, length, lanes, order, places);
}
void ColumnsOfInt32s(const int32_t* first, int64_t stride, int64_t length, int64_t lanes,
                     ArgOrder order, int64_t* places) {
  ColumnsInOrder(first, stride, length, lanes, order, places);
}
void ColumnsOfInt64s(const int64_t* first, int64_t stride, int64_t length, int64_t lanes,
                     ArgOrder order, int64_t* places) {
  ColumnsInOrder(first, stride, length, lanes, order, places);
}
int64_t RowOfFloats(const float* row, int64_t length, ArgOrder order) {
  return RowInOrder(row, length, order);
}
int64_t RowOfInt32s(const int32_t* row, int64_t length, ArgOrder order) {
  return RowInOrder(row, length, order);
}
int64_t RowOfInt64s(const int64_t* row, int64_t length, ArgOrder order) {
  return RowInOrder(row, length, order);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(ColumnsOfFloats);
HWY_EXPORT(RowOfFloats);
HWY_EXPORT(ColumnsOfInt32s);
HWY_EXPORT(RowOfInt32s);
HWY_EXPORT(ColumnsOfInt64s);
HWY_EXPORT(RowOfInt64s);

void ArgOfColumns(const float* first, int64_t stride, int64_t length, int64_t lanes, ArgOrder order,
                  int64_t* places) {
  HWY_DYNAMIC_DISPATCH(ColumnsOfFloats)(first, stride, length, lanes, order, places);
}
void ArgOfColumns(const int32_t* first, int64_t stride, int64_t length, int64_t lanes,
                  ArgOrder order, int64_t* places) {
  HWY_DYNAMIC_DISPATCH(ColumnsOfInt32s)(first, stride, length, lanes, order, places);
}
void ArgOfColumns(const int64_t* first, int64_t stride, int64_t length, int64_t lanes,
                  ArgOrder order, int64_t* places) {
  HWY_DYNAMIC_DISPATCH(ColumnsOfInt64s)(first, stride, length, lanes, order, places);
}
int64_t ArgOfRow(const float* row, int64_t length, ArgOrder order) {
  return HWY_DYNAMIC_DISPATCH(RowOfFloats)(row, length, order);
}
int64_t ArgOfRow(const int32_t* row, int64_t length, ArgOrder order) {
  return HWY_DYNAMIC_DISPATCH(RowOfInt32s)(row, length, order);
}
int64_t ArgOfRow(const int64_t* row, int64_t length, ArgOrder order) {
  return HWY_DYNAMIC_DISPATCH(RowOfInt64s)(row, length, order);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
