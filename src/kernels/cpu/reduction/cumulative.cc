#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/element_types.h"
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
  bool product;
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

template <typename T>
Status RunCumulative(const Cumulative& cumulative, const KernelCall& call) {
  const auto rank = static_cast<int64_t>(cumulative.dims.size());
  int64_t axis = IndexAt(cumulative.axis_type, call.inputs[1], 0);
  if (axis < -rank || axis >= rank) return IndexOutside(cumulative.outside, axis, rank);
  if (axis < 0) axis += rank;
  const AxisSplit split = SplitAt(cumulative.dims, axis);
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  for (int64_t lane = 0; lane < split.lanes(); ++lane) {
    const int64_t first = lane / split.inner * split.length * split.inner + lane % split.inner;
    Wide<T> sum = cumulative.product ? 1 : 0;
    for (int64_t i = 0; i < split.length; ++i) {
      const int64_t place = cumulative.reverse ? split.length - 1 - i : i;
      const int64_t at = first + place * split.inner;
      const Wide<T> before = sum;
      sum = Joined<Wide<T>>(cumulative.product, sum, from[at]);
      to[at] = static_cast<T>(cumulative.exclusive ? before : sum);
    }
  }
  return {};
}

template <bool kProduct>
Result<KernelPointer> MakeCumulative(KernelSite& site) {
  PLIMSOLL_TRY(CheckIndexType(site, 1));
  const Cumulative cumulative{site.inputs[0].dims,
                              site.inputs[1].type,
                              site.attributes().Int("exclusive", 0) != 0,
                              site.attributes().Int("reverse", 0) != 0,
                              kProduct,
                              site.BadInput("")};
  KernelPointer kernel;
  VisitType<AllNumbers>(site.inputs[0].type, [&]<typename T>() {
    kernel = MakeKernel(
        [cumulative](const KernelCall& call) { return RunCumulative<T>(cumulative, call); });
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
