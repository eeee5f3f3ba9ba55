#include "kernels/cpu/vector/arg_rows.h"

#include <algorithm>

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

constexpr hn::ScalableTag<float> kArgFloats;
constexpr hn::Rebind<int32_t, decltype(kArgFloats)> kArgPlaces;
using ArgFloats = hn::Vec<decltype(kArgFloats)>;
using ArgPlaces = hn::Vec<decltype(kArgPlaces)>;

// The best element of each lane so far, and where it lies.
template <bool kLargest, bool kLast>
struct BestLanes {
  ArgFloats best;
  ArgPlaces place;

  HWY_INLINE void Meet(ArgFloats later, ArgPlaces at) {
    const ArgFloats more = kLargest ? later : best;
    const ArgFloats less = kLargest ? best : later;
    auto replaces = kLast ? hn::Ge(more, less) : hn::Gt(more, less);
    const auto odd = hn::IsNaN(later);
    replaces = hn::Or(replaces, kLast ? odd : hn::AndNot(hn::IsNaN(best), odd));
    best = hn::IfThenElse(replaces, later, best);
    place = hn::IfThenElse(hn::RebindMask(kArgPlaces, replaces), at, place);
  }
};

// Those of one vector of columns.
template <bool kLargest, bool kLast, typename Load>
HWY_INLINE ArgPlaces PlacesOf(int64_t length, const Load& load) {
  BestLanes<kLargest, kLast> lanes{load(0), hn::Zero(kArgPlaces)};
  for (int64_t i = 1; i < length; ++i) {
    lanes.Meet(load(i), hn::Set(kArgPlaces, static_cast<int32_t>(i)));
  }
  return lanes.place;
}

template <bool kLargest, bool kLast>
void Columns(const float* first, int64_t stride, int64_t length, int64_t lanes, int64_t* places) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(kArgFloats));
  HWY_ALIGN int32_t found[kLanes];
  HWY_ALIGN float part[kLanes] = {};
  for (int64_t lane = 0; lane < lanes; lane += kLanes) {
    const int64_t count = std::min(kLanes, lanes - lane);
    const auto load = [&](int64_t i) HWY_ATTR {
      const float* const from = first + i * stride + lane;
      if (count == kLanes) return hn::LoadU(kArgFloats, from);
      std::copy_n(from, count, part);
      return hn::Load(kArgFloats, part);
    };
    hn::Store(PlacesOf<kLargest, kLast>(length, load), kArgPlaces, found);
    std::copy_n(found, count, places + lane);
  }
}

// Whether an element at a place takes that of another, wherever each lies.
template <bool kLargest, bool kLast>
bool Beats(float one, int64_t at, float other, int64_t other_at) {
  const bool both_odd = one != one && other != other;
  if (one == other || both_odd) return kLast ? at > other_at : at < other_at;
  if (one != one || other != other) return one != one;
  return (one > other) == kLargest;
}

template <bool kLargest, bool kLast>
int64_t Row(const float* row, int64_t length) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(kArgFloats));
  int64_t best = 0;
  int64_t done = 1;
  if (length >= kLanes) {
    const ArgPlaces own = hn::Iota(kArgPlaces, 0);
    BestLanes<kLargest, kLast> lanes{hn::LoadU(kArgFloats, row), own};
    for (done = kLanes; done + kLanes <= length; done += kLanes) {
      lanes.Meet(hn::LoadU(kArgFloats, row + done),
                 hn::Add(own, hn::Set(kArgPlaces, static_cast<int32_t>(done))));
    }
    HWY_ALIGN int32_t places[kLanes];
    hn::Store(lanes.place, kArgPlaces, places);
    best = places[0];
    for (const int32_t place : places) {
      if (Beats<kLargest, kLast>(row[place], place, row[best], best)) best = place;
    }
  }
  for (; done < length; ++done) {
    if (Beats<kLargest, kLast>(row[done], done, row[best], best)) best = done;
  }
  return best;
}

void ColumnsOf(const float* first, int64_t stride, int64_t length, int64_t lanes, ArgOrder order,
               int64_t* places) {
  if (order.largest) {
    order.last_of_equals ? Columns<true, true>(first, stride, length, lanes, places)
                         : Columns<true, false>(first, stride, length, lanes, places);
  } else {
    order.last_of_equals ? Columns<false, true>(first, stride, length, lanes, places)
                         : Columns<false, false>(first, stride, length, lanes, places);
  }
}

int64_t RowOf(const float* row, int64_t length, ArgOrder order) {
  if (order.largest) {
    return order.last_of_equals ? Row<true, true>(row, length) : Row<true, false>(row, length);
  }
  return order.last_of_equals ? Row<false, true>(row, length) : Row<false, false>(row, length);
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(ColumnsOf);
HWY_EXPORT(RowOf);

void ArgOfColumns(const float* first, int64_t stride, int64_t length, int64_t lanes, ArgOrder order,
                  int64_t* places) {
  HWY_DYNAMIC_DISPATCH(ColumnsOf)(first, stride, length, lanes, order, places);
}

int64_t ArgOfRow(const float* row, int64_t length, ArgOrder order) {
  return HWY_DYNAMIC_DISPATCH(RowOf)(row, length, order);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
