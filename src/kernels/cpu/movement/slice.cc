#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {
namespace {

struct SliceArguments {
  std::vector<int64_t> starts;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps;
};

// Attributes before version 10, inputs since. Ends are not needed: the output's shape is known.
SliceArguments ReadArguments(const KernelSite& site) {
  SliceArguments arguments;
  if (site.node().version < 10) {
    if (const auto* starts = site.attributes().Ints("starts")) arguments.starts = *starts;
    if (const auto* axes = site.attributes().Ints("axes")) arguments.axes = *axes;
  } else {
    arguments.starts = site.inputs[1].Integers();
    if (site.has_input(3)) arguments.axes = site.inputs[3].Integers();
    if (site.has_input(4)) arguments.steps = site.inputs[4].Integers();
  }
  for (size_t i = arguments.axes.size(); i < arguments.starts.size(); ++i) {
    arguments.axes.push_back(static_cast<int64_t>(i));
  }
  arguments.steps.resize(arguments.starts.size(), 1);
  return arguments;
}

Result<KernelPointer> MakeSlice(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const Dims& out = site.outputs[0].dims;
  const SliceArguments arguments = ReadArguments(site);
  const Dims from = StridesOf(data.dims);
  const Dims to = StridesOf(out);
  std::vector<CopyAxis> axes;
  for (size_t axis = 0; axis < out.size(); ++axis)
    axes.push_back({out[axis], from[axis], to[axis]});
  int64_t first = 0;
  for (size_t i = 0; i < arguments.starts.size(); ++i) {
    PLIMSOLL_ASSIGN(const int64_t axis, NormalAxis(site, arguments.axes[i], data.rank()));
    const int64_t length = data.dims[axis];
    int64_t start = arguments.starts[i];
    if (start < 0) start = SaturatingAdd(start, length);
    start = std::clamp<int64_t>(start, 0, std::max<int64_t>(length - 1, 0));
    const int64_t step = out[axis] > 1 ? arguments.steps[i] : 0;
    const int64_t last = SaturatingAdd(start, SaturatingMultiply(step, out[axis] - 1));
    if (out[axis] > 0 && (last < 0 || last >= length)) {
      return site.BadInput("the slice reaches outside its input");
    }
    first += start * from[axis];
    axes[axis].from *= step;
  }
  return MakeKernel([copy = StridedCopy(data.type, std::move(axes), first)](
                        const KernelCall& call) { copy.Run(call.inputs[0], call.outputs[0]); });
}

constexpr KernelRow kSliceRows[] = {
    {"", "Slice", 1, graph::kNewest, MakeSlice},
};

}  // namespace

std::span<const KernelRow> SliceKernels() { return kSliceRows; }

}  // namespace plimsoll::kernels::cpu
