#include "kernels/cpu/elementwise/element_order.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/reduction/arg_lanes.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Where the largest or smallest element of an axis lies.
namespace plimsoll::kernels::cpu {
namespace {

// Whether a later element takes the place of the best one so far. As in numpy, NaN is both the
// largest and the smallest.
template <typename T>
bool Replaces(const T& later, const T& best, bool largest, bool last_of_equals) {
  const Wide<T> a = later;
  const Wide<T> b = best;
  if (a != a) return last_of_equals || b == b;
  if (b != b) return false;
  return a == b ? last_of_equals : (a > b) == largest;
}

template <typename T>
void RunArg(const KernelCall& call, const AxisSplit& split, bool largest, bool last_of_equals) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<int64_t*>(call.outputs[0]);
  const int64_t grain = std::max<int64_t>((int64_t{1} << 15) / split.length, 1);
  ParallelFor(split.lanes(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) {
      const T* first = from + lane / split.inner * split.length * split.inner + lane % split.inner;
      int64_t best = 0;
      for (int64_t i = 1; i < split.length; ++i) {
        const T& later = first[i * split.inner];
        if (Replaces(later, first[best * split.inner], largest, last_of_equals)) best = i;
      }
      to[lane] = best;
    }
  });
}

template <bool kLargest>
Result<KernelPointer> MakeArg(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", 0), data.rank()));
  const AxisSplit split = SplitAt(data.dims, axis);
  if (split.length == 0 && split.lanes() > 0) {
    return site.BadInput("the axis is empty: no element is the largest or smallest");
  }
  const bool last = site.attributes().Int("select_last_index", 0) != 0;
  KernelPointer kernel;
  VisitType<TypeList<float, int32_t, int64_t>>(data.type, [&]<typename T>() {
    if (split.length >= kMostArgPlaces) return;
    kernel = MakeKernel([split, order = ArgOrder{kLargest, last}](const KernelCall& call) {
      const int64_t grain = std::max<int64_t>((int64_t{1} << 16) / split.length, 1);
      ParallelFor(split.lanes(), grain, [&](int64_t begin, int64_t end) {
        ArgOfLanes(static_cast<const T*>(call.inputs[0]), split, order, begin, end,
                   static_cast<int64_t*>(call.outputs[0]) + begin);
      });
    });
  });
  if (kernel != nullptr) return kernel;
  VisitType<AllNumbers>(data.type, [&]<typename T>() {
    kernel = MakeKernel([split, last](const KernelCall& call) {
      if (split.lanes() > 0) RunArg<T>(call, split, kLargest, last);
    });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kArgExtremeRows[] = {
    {"", "ArgMax", 1, graph::kNewest, MakeArg<true>},
    {"", "ArgMin", 1, graph::kNewest, MakeArg<false>},
};

}  // namespace

std::span<const KernelRow> ArgExtremeKernels() { return kArgExtremeRows; }

}  // namespace plimsoll::kernels::cpu
