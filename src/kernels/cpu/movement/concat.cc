#include <algorithm>
#include <cstring>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "plimsoll/base/text.h"

// Tensors put side by side along an axis, and split again. A part that the plan has placed
// inside the whole is not moved. Where the first part of a Concat lies at the beginning of the
// whole's memory, its rows are moved apart.
namespace plimsoll::kernels::cpu {
namespace {

// One part of a whole: which tensor it is, and how its elements get there.
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

// The parts of a whole, lengths[i] of the axis being tensor i's.
Result<std::vector<Part>> PlanParts(const KernelSite& site, const TensorInfo& whole,
                                    const Dims& lengths, int64_t axis, Direction direction) {
  const AxisSplit whole_split = SplitAt(whole.dims, axis);
  std::vector<Part> parts;
  int64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > whole_split.length - begin) {
      return site.BadInput("the parts are larger than the whole");
    }
    const AxisSplit part{whole_split.outer, lengths[i], whole_split.inner};
    parts.push_back({i, CopyOfPart(whole.type, part, whole_split, begin, direction)});
    begin += lengths[i];
  }
  return parts;
}

// The rows of a part that begins where the whole does, each to its place in the whole.
struct RowsInPlace {
  int64_t rows = 0;
  size_t bytes = 0;   // of a row of the part
  size_t stride = 0;  // of a row of the whole, in bytes

  // From the last on, so that none is overwritten before it was moved.
  void MoveApart(void* whole) const {
    auto* const first = static_cast<std::byte*>(whole);
    for (int64_t row = rows - 1; row > 0; --row) {
      const auto place = static_cast<size_t>(row);
      std::memmove(first + place * stride, first + place * bytes, bytes);
    }
  }
};

RowsInPlace RowsOfFirst(graph::DataType type, const Dims& part, const Dims& whole, int64_t axis) {
  const AxisSplit split = SplitAt(part, axis);
  const AxisSplit all = SplitAt(whole, axis);
  const auto bytes = [&](int64_t elements) {
    return static_cast<size_t>(graph::SizeOf(type, elements).value());
  };
  return {split.outer, bytes(split.length * split.inner), bytes(all.length * all.inner)};
}

Result<KernelPointer> MakeConcat(KernelSite& site) {
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", 1), site.outputs[0].rank()));
  Dims lengths;
  for (const TensorInfo& input : site.inputs) {
    if (input.rank() != site.outputs[0].rank()) return site.BadInput("the inputs differ in rank");
    lengths.push_back(input.dims[axis]);
  }
  PLIMSOLL_ASSIGN(std::vector<Part> parts,
                  PlanParts(site, site.outputs[0], lengths, axis, Direction::kJoin));
  const RowsInPlace first =
      RowsOfFirst(site.outputs[0].type, site.inputs[0].dims, site.outputs[0].dims, axis);
  return MakeKernel([parts = std::move(parts), first](const KernelCall& call) {
    const bool in_place = call.inputs[0] == call.outputs[0];
    if (in_place) first.MoveApart(call.outputs[0]);
    for (size_t i = in_place ? 1 : 0; i < parts.size(); ++i) {
      parts[i].copy.Run(call.inputs[parts[i].tensor], call.outputs[0]);
    }
  });
}

// An output that is left out still takes its share of the axis. Shares are equal where none are
// given, the last ones smaller where that does not come out even.
Dims SharesOf(const KernelSite& site, int64_t length) {
  if (const auto* given = site.attributes().Ints("split")) return *given;
  if (site.has_input(1)) return site.inputs[1].Integers();
  const auto parts = static_cast<int64_t>(site.outputs.size());
  const int64_t share = (length + parts - 1) / parts;
  Dims shares;
  for (int64_t i = 0; i < parts; ++i) {
    shares.push_back(std::clamp<int64_t>(length - i * share, 0, share));
  }
  return shares;
}

Result<KernelPointer> MakeSplit(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const int64_t axis,
                  NormalAxis(site, site.attributes().Int("axis", 0), data.rank()));
  const Dims shares = SharesOf(site, data.dims[axis]);
  if (shares.size() != site.outputs.size()) {
    return site.BadInput(
        StrCat("there are ", shares.size(), " sizes for ", site.outputs.size(), " outputs"));
  }
  PLIMSOLL_ASSIGN(std::vector<Part> parts, PlanParts(site, data, shares, axis, Direction::kCut));
  return MakeKernel([parts = std::move(parts)](const KernelCall& call) {
    for (const Part& part : parts) {
      if (call.outputs[part.tensor] != nullptr) {
        part.copy.Run(call.inputs[0], call.outputs[part.tensor]);
      }
    }
  });
}

constexpr KernelRow kConcatRows[] = {
    {"", "Concat", 1, graph::kNewest, MakeConcat},
    {"", "Split", 1, graph::kNewest, MakeSplit},
};

}  // namespace

std::span<const KernelRow> ConcatKernels() { return kConcatRows; }

}  // namespace plimsoll::kernels::cpu
