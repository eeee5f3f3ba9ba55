#include "kernels/cpu/axis_split.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/strided_copy.h"

// Tensors put side by side along an axis, and cut apart again. A part that the plan has placed
// inside the whole is not moved.
namespace plimsoll::kernels::cpu {
namespace {

// One part of a whole: which tensor it is, and where its elements begin along the axis.
struct Part {
  size_t tensor;
  StridedCopy copy;
};

enum class Direction { kJoin, kCut };

StridedCopy CopyOfPart(graph::DataType type, const AxisSplit& part, const AxisSplit& whole,
                       int64_t begin, Direction direction) {
  const int64_t run = part.length * part.inner;
  const int64_t row = whole.length * whole.inner;
  if (direction == Direction::kJoin) {
    return {type, {{part.outer, run, row}, {run, 1, 1}}, 0, begin * whole.inner};
  }
  return {type, {{part.outer, row, run}, {run, 1, 1}}, begin * whole.inner, 0};
}

Result<std::vector<Part>> PlanParts(const KernelSite& site, const TensorInfo& whole,
                                    const std::vector<TensorInfo>& tensors, int64_t axis,
                                    Direction direction) {
  const AxisSplit whole_split = SplitAt(whole.dims, axis);
  std::vector<Part> parts;
  int64_t begin = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].present()) continue;
    const AxisSplit split = SplitAt(tensors[i].dims, axis);
    if (split.length > whole_split.length - begin) {
      return site.BadInput("the parts are larger than the whole");
    }
    parts.push_back({i, CopyOfPart(whole.type, split, whole_split, begin, direction)});
    begin += split.length;
  }
  return parts;
}

Result<KernelPointer> MakeConcat(KernelSite& site) {
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", 1), site.outputs[0].rank()));
  PLIMSOLL_ASSIGN(std::vector<Part> parts,
                  PlanParts(site, site.outputs[0], site.inputs, axis, Direction::kJoin));
  return MakeKernel([parts = std::move(parts)](const KernelCall& call) {
    for (const Part& part : parts) part.copy.Run(call.inputs[part.tensor], call.outputs[0]);
  });
}

// An output that nobody reads still takes its share of the axis.
Result<KernelPointer> MakeSplit(KernelSite& site) {
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", 0), site.inputs[0].rank()));
  PLIMSOLL_ASSIGN(std::vector<Part> parts,
                  PlanParts(site, site.inputs[0], site.outputs, axis, Direction::kCut));
  return MakeKernel([parts = std::move(parts)](const KernelCall& call) {
    for (const Part& part : parts) {
      if (call.outputs[part.tensor] != nullptr) {
        part.copy.Run(call.inputs[0], call.outputs[part.tensor]);
      }
    }
  });
}

constexpr KernelRow kRows[] = {
    {"", "Concat", 1, graph::kNewest, MakeConcat},
    {"", "Split", 1, graph::kNewest, MakeSplit},
};

}  // namespace

std::span<const KernelRow> ConcatKernels() { return kRows; }

}  // namespace plimsoll::kernels::cpu
