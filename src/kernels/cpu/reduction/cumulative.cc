#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/vector/running_sums.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Sums and products of all elements up to each place of an axis. Each element is read before its
// place is written, so the output may be the input.
namespace plimsoll::kernels::cpu {
namespace {

struct Cumulative {
  Dims dims;
  graph::DataType axis_type;
  bool exclusive;
  bool reverse;
  Error outside;
};

// Integers wrap around; unsigned arithmetic keeps that defined.
template <typename T>
T Joined(bool product, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto left = static_cast<uint64_t>(a);
    const auto right = static_cast<uint64_t>(b);
    return static_cast<T>(product ? left * right : left + right);
  } else {
    return product ? a * b : a + b;
  }
}

// Lanes whose sums go on side by side.
constexpr int64_t kLanesTogether = 512;
// Elements that are worth a thread of their own.
constexpr int64_t kCumulativeGrain = 1 << 14;

// How the places of an axis are passed: `step` elements from one to the next.
struct Passage {
  int64_t length = 0;
  int64_t step = 0;
  bool exclusive = false;
};

template <bool kProduct, typename T>
void JoinLane(const Passage& passage, const T* from, T* to) {
  Wide<T> sum = kProduct ? 1 : 0;
  for (int64_t i = 0; i < passage.length; ++i, from += passage.step, to += passage.step) {
    const Wide<T> before = sum;
    sum = Joined<Wide<T>>(kProduct, sum, *from);
    *to = static_cast<T>(passage.exclusive ? before : sum);
  }
}

// Neighbouring lanes; in whole groups the compiler makes vectors of them.
template <bool kProduct, typename T>
void JoinLanes(const Passage& passage, int64_t lanes, const T* from, T* to) {
  constexpr bool kByVectors =
      std::is_same_v<T, float> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;
  if constexpr (!kProduct && kByVectors) {
    return SumAlong({lanes, passage.length, passage.step, passage.exclusive}, from, to);
  }
  std::array<Wide<T>, kLanesTogether> sums;
  std::fill_n(sums.begin(), lanes, kProduct ? 1 : 0);
  constexpr int64_t kGroup = 8;
  for (int64_t i = 0; i < passage.length; ++i) {
    const T* const in = from + i * passage.step;
    T* const out = to + i * passage.step;
    int64_t lane = 0;
    for (; lane + kGroup <= lanes; lane += kGroup) {
      Wide<T>* const own = sums.data() + lane;
      Wide<T> next[kGroup];
      for (int64_t k = 0; k < kGroup; ++k) {
        next[k] = Joined<Wide<T>>(kProduct, own[k], in[lane + k]);
      }
      const Wide<T>* const told = passage.exclusive ? own : next;
      for (int64_t k = 0; k < kGroup; ++k) out[lane + k] = static_cast<T>(told[k]);
      for (int64_t k = 0; k < kGroup; ++k) own[k] = next[k];
    }
    for (; lane < lanes; ++lane) {
      Wide<T>& own = sums[static_cast<size_t>(lane)];
      const Wide<T> before = own;
      own = Joined<Wide<T>>(kProduct, own, in[lane]);
      out[lane] = static_cast<T>(passage.exclusive ? before : own);
    }
  }
}

template <bool kProduct, typename T>
Status RunCumulative(const Cumulative& cumulative, const KernelCall& call) {
  const auto rank = static_cast<int64_t>(cumulative.dims.size());
  int64_t axis = IndexAt(cumulative.axis_type, call.inputs[1], 0);
  if (axis < -rank || axis >= rank) return IndexOutside(cumulative.outside, axis, rank);
  if (axis < 0) axis += rank;
  const AxisSplit split = SplitAt(cumulative.dims, axis);
  if (split.lanes() * split.length == 0) return {};
  const int64_t last = (split.length - 1) * split.inner;
  const Passage passage{split.length, cumulative.reverse ? -split.inner : split.inner,
                        cumulative.exclusive};
  const auto* from = static_cast<const T*>(call.inputs[0]) + (cumulative.reverse ? last : 0);
  auto* to = static_cast<T*>(call.outputs[0]) + (cumulative.reverse ? last : 0);
  const int64_t groups = (split.inner + kLanesTogether - 1) / kLanesTogether;
  const int64_t grain = kCumulativeGrain / (split.length * std::min(split.inner, kLanesTogether));
  ParallelFor(split.outer * groups, grain + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t lane = i % groups * kLanesTogether;
      const int64_t first = i / groups * split.length * split.inner + lane;
      const int64_t lanes = std::min(kLanesTogether, split.inner - lane);
      if (lanes == 1) {
        JoinLane<kProduct>(passage, from + first, to + first);
      } else {
        JoinLanes<kProduct>(passage, lanes, from + first, to + first);
      }
    }
  });
  return {};
}

template <bool kProduct>
Result<KernelPointer> MakeCumulative(KernelSite& site) {
  PLIMSOLL_TRY(CheckIndexType(site, 1));
  const Cumulative cumulative{site.inputs[0].dims, site.inputs[1].type,
                              site.attributes().Int("exclusive", 0) != 0,
                              site.attributes().Int("reverse", 0) != 0, site.BadInput("")};
  KernelPointer kernel;
  VisitType<AllNumbers>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel([cumulative](const KernelCall& call) {
      return RunCumulative<kProduct, T>(cumulative, call);
    });
  });
  if (kernel == nullptr) {
    return site.Unsupported(StrCat("data is ", graph::Name(site.inputs[0].type)));
  }
  return kernel;
}

constexpr KernelRow kCumulativeRows[] = {
    {"", "CumSum", 11, graph::kNewest, MakeCumulative<false>},
    {"", "CumProd", 26, graph::kNewest, MakeCumulative<true>},
};

}  // namespace

std::span<const KernelRow> CumulativeKernels() { return kCumulativeRows; }

}  // namespace plimsoll::kernels::cpu
