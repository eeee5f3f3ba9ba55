#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>

#include "kernels/cpu/elementwise/element_order.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// So few places that are kept lie in order all the time.
constexpr int64_t kFewKept = 32;

// How more places to keep are found: of all places ordered by halves, or of as many as are kept in
// a heap, which needs less room and is faster where few are kept.
struct Selection {
  AxisSplit split;
  int64_t kept = 0;
  bool largest = true;
  bool by_heap = false;
  bool in_output = false;  // the index output serves as the room

  int64_t room() const { return kept <= kFewKept || in_output ? 0 : by_heap ? kept : split.length; }
};

// Calls take(place) for each place behind those that are kept at first whose element belongs before
// the last of those that are kept then, and which take gives. A later place comes before an earlier
// one only by its element: most are told by that alone.
template <typename T, typename Take>
void ForEachBetter(const Selection& selection, const T* first, int64_t last, const Take& take) {
  const int64_t step = selection.split.inner;
  T worst = first[last * step];
  for (int64_t place = selection.kept; place < selection.split.length; ++place) {
    const T& next = first[place * step];
    if (!(selection.largest ? ComesBefore(worst, next) : ComesBefore(next, worst))) continue;
    worst = first[take(place) * step];
  }
}

// The first `kept` of a lane's places in order, the lower index first among equals. `places` has
// room for the lane, or with a heap for those that are kept.
template <typename T, typename Before>
void OrderPlaces(const Selection& selection, const T* first, int64_t* places,
                 const Before& before) {
  const int64_t length = selection.split.length;
  const int64_t kept = selection.kept;
  if (!selection.by_heap) {
    std::iota(places, places + length, 0);
    if (kept < length) std::nth_element(places, places + kept, places + length, before);
    std::sort(places, places + kept, before);
    return;
  }
  std::iota(places, places + kept, 0);
  std::make_heap(places, places + kept, before);
  ForEachBetter(selection, first, places[0], [&](int64_t place) {
    std::pop_heap(places, places + kept, before);
    places[kept - 1] = place;
    std::push_heap(places, places + kept, before);
    return places[0];
  });
  std::sort_heap(places, places + kept, before);
}

// The first `kept` of `length` elements that lie `step` apart, and where they are; the lower index
// first among equals.
template <typename T, typename Before>
void SelectFew(const T* from, int64_t step, int64_t length, int64_t kept, const Before& before,
               T* values, int64_t* places) {
  int64_t held = 0;
  for (int64_t place = 0; place < length; ++place) {
    const T element = from[place * step];
    if (held == kept && !before(element, values[kept - 1])) continue;
    int64_t at = held < kept ? held++ : kept - 1;
    for (; at > 0 && before(element, values[at - 1]); --at) {
      values[at] = values[at - 1];
      places[at] = places[at - 1];
    }
    values[at] = element;
    places[at] = place;
  }
}

template <typename T>
void RunFew(const KernelCall& call, const Selection& selection) {
  const AxisSplit& split = selection.split;
  const int64_t kept = selection.kept;
  const auto run = [&](int64_t begin, int64_t end, const auto& before) {
    T values[kFewKept];
    int64_t places[kFewKept];
    for (int64_t lane = begin; lane < end; ++lane) {
      const int64_t outer = lane / split.inner;
      const int64_t inner = lane % split.inner;
      const auto* from = static_cast<const T*>(call.inputs[0]) + outer * split.length * split.inner;
      SelectFew(from + inner, split.inner, split.length, kept, before, values, places);
      for (int64_t i = 0; i < kept; ++i) {
        const int64_t at = (outer * kept + i) * split.inner + inner;
        if (call.outputs[0] != nullptr) static_cast<T*>(call.outputs[0])[at] = values[i];
        if (call.outputs[1] != nullptr) static_cast<int64_t*>(call.outputs[1])[at] = places[i];
      }
    }
  };
  constexpr int64_t kGrain = 1 << 14;  // elements that are looked at
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(split.length, 1), 1);
  ParallelFor(split.lanes(), grain, [&](int64_t begin, int64_t end) {
    if (selection.largest) {
      run(begin, end, [](const T& a, const T& b) { return ComesBefore(b, a); });
    } else {
      run(begin, end, [](const T& a, const T& b) { return ComesBefore(a, b); });
    }
  });
}

// Elements and their places as one whole number that sorts as they do. Equal ones, both zeros among
// them, sort by their places, and NaN is larger than any number.
constexpr int64_t kMostPlaces = int64_t{1} << 32;

uint64_t SortedNumber(float element, int64_t place, bool largest) {
  constexpr uint32_t kSign = uint32_t{1} << 31;
  const auto bits = std::bit_cast<uint32_t>(element + 0.0F);
  const uint32_t rising = element != element ? ~0U : (bits & kSign) != 0 ? ~bits : bits | kSign;
  return uint64_t{largest ? ~rising : rising} << 32 | static_cast<uint32_t>(place);
}

// The same as OrderPlaces, without looking elements up while they are sorted.
void OrderFloats(const Selection& selection, const float* first, int64_t* places) {
  auto* const numbers = reinterpret_cast<uint64_t*>(places);
  const int64_t length = selection.split.length;
  const int64_t kept = selection.kept;
  const auto number = [&](int64_t place) {
    return SortedNumber(first[place * selection.split.inner], place, selection.largest);
  };
  if (!selection.by_heap) {
    for (int64_t place = 0; place < length; ++place) numbers[place] = number(place);
    if (kept < length) std::nth_element(numbers, numbers + kept, numbers + length);
    std::sort(numbers, numbers + kept);
  } else {
    for (int64_t place = 0; place < kept; ++place) numbers[place] = number(place);
    std::make_heap(numbers, numbers + kept);
    const auto last = [&] { return int64_t{static_cast<uint32_t>(numbers[0])}; };
    ForEachBetter(selection, first, last(), [&](int64_t place) {
      std::pop_heap(numbers, numbers + kept);
      numbers[kept - 1] = number(place);
      std::push_heap(numbers, numbers + kept);
      return last();
    });
    std::sort_heap(numbers, numbers + kept);
  }
  for (int64_t i = 0; i < kept; ++i) places[i] = static_cast<uint32_t>(numbers[i]);
}

template <typename T>
void RunTopK(const KernelCall& call, const Selection& selection) {
  const AxisSplit& split = selection.split;
  const int64_t kept = selection.kept;
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* values = static_cast<T*>(call.outputs[0]);
  auto* indices = static_cast<int64_t*>(call.outputs[1]);
  for (int64_t lane = 0; lane < split.lanes(); ++lane) {
    const int64_t outer = lane / split.inner;
    const int64_t inner = lane % split.inner;
    const T* first = from + outer * split.length * split.inner + inner;
    auto* const places =
        selection.in_output ? indices + outer * kept : static_cast<int64_t*>(call.workspace);
    const auto before = [&](int64_t a, int64_t b) {
      const T& left = first[a * split.inner];
      const T& right = first[b * split.inner];
      if (ComesBefore(left, right)) return !selection.largest;
      if (ComesBefore(right, left)) return selection.largest;
      return a < b;
    };
    if constexpr (std::is_same_v<T, float>) {
      if (split.length < kMostPlaces) {
        OrderFloats(selection, first, places);
      } else {
        OrderPlaces(selection, first, places, before);
      }
    } else {
      OrderPlaces(selection, first, places, before);
    }
    for (int64_t i = 0; i < kept; ++i) {
      const int64_t at = (outer * kept + i) * split.inner + inner;
      if (values != nullptr) values[at] = first[places[i] * split.inner];
      if (indices != nullptr) indices[at] = places[i];
    }
  }
}

// Always sorted: `sorted` = 0 allows any order.
Result<KernelPointer> MakeTopK(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", -1), data.rank()));
  const AxisSplit split = SplitAt(data.dims, axis);
  const TensorInfo& out = site.has_output(0) ? site.outputs[0] : site.outputs[1];
  const int64_t kept = out.dims[axis];
  if (kept > split.length) {
    return site.BadInput(StrCat("cannot take ", kept, " of ", split.length, " elements"));
  }
  constexpr int64_t kHeapShare = 16;
  Selection selection{
      .split = split, .kept = kept, .largest = site.attributes().Int("largest", 1) != 0};
  const Bytes all = Bytes(split.length) * int64_t{sizeof(int64_t)};
  selection.by_heap = kept <= split.length / kHeapShare || all > site.most_workspace;
  const bool fits_output = selection.by_heap || kept == split.length;
  selection.in_output = fits_output && split.inner == 1 && site.has_output(1);
  KernelPointer kernel;
  VisitType<AllNumbers>(data.type, [&]<typename T>() {
    kernel = MakeKernel(
        [=](const KernelCall& call) {
          if (selection.kept == 0) return;
          if (selection.kept <= kFewKept) return RunFew<T>(call, selection);
          RunTopK<T>(call, selection);
        },
        Bytes(selection.room()) * int64_t{sizeof(int64_t)}, "places in order");
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kTopKRows[] = {
    {"", "TopK", 1, graph::kNewest, MakeTopK},
};

}  // namespace

std::span<const KernelRow> TopKKernels() { return kTopKRows; }

}  // namespace plimsoll::kernels::cpu
