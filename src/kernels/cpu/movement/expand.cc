#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "plimsoll/base/text.h"

// Elements repeated: along axes of one (Expand), or whole tensors side by side (Tile).
namespace plimsoll::kernels::cpu {
namespace {

KernelPointer MakeCopyKernel(graph::DataType type, std::vector<CopyAxis> axes) {
  return MakeKernel([copy = StridedCopy(type, std::move(axes))](const KernelCall& call) {
    copy.Run(call.inputs[0], call.outputs[0]);
  });
}

Result<KernelPointer> MakeExpand(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const Dims& out = site.outputs[0].dims;
  if (data.dims.size() > out.size())
    return site.BadInput("the input has more axes than the output");
  const size_t added = out.size() - data.dims.size();
  const Dims from = StridesOf(data.dims);
  const Dims to = StridesOf(out);
  std::vector<CopyAxis> axes;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    const int64_t length = axis < added ? 1 : data.dims[axis - added];
    if (length != 1 && length != out[axis]) {
      return site.BadInput(StrCat("an axis of ", length, " does not expand to ", out[axis]));
    }
    axes.push_back({out[axis], length == 1 ? 0 : from[axis - added], to[axis]});
  }
  return MakeCopyKernel(data.type, std::move(axes));
}

Result<KernelPointer> MakeTile(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const Dims& out = site.outputs[0].dims;
  const Dims from = StridesOf(data.dims);
  const Dims to = StridesOf(out);
  std::vector<CopyAxis> axes;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    const int64_t length = data.dims[axis];
    axes.push_back({length == 0 ? 0 : out[axis] / length, 0, length * to[axis]});
    axes.push_back({length, from[axis], to[axis]});
  }
  return MakeCopyKernel(data.type, std::move(axes));
}

constexpr KernelRow kExpandRows[] = {
    {"", "Expand", 8, graph::kNewest, MakeExpand},
    {"", "Tile", 6, graph::kNewest, MakeTile},
};

}  // namespace

std::span<const KernelRow> ExpandKernels() { return kExpandRows; }

}  // namespace plimsoll::kernels::cpu
