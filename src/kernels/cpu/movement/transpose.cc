#include <algorithm>
#include <numeric>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "plimsoll/base/text.h"

// Axes in another order: Transpose, and the block operators, which are a Transpose of a tensor seen
// with its blocks as axes of their own.
namespace plimsoll::kernels::cpu {
namespace {

using Permutation = std::vector<int64_t>;

// Output axis i is axis order[i] of `dims`.
KernelPointer PermuteAxes(graph::DataType type, const Dims& dims, const Permutation& order) {
  const Dims from = StridesOf(dims);
  std::vector<CopyAxis> axes;
  for (const int64_t axis : order) axes.push_back({dims[axis], from[axis], 0});
  int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    axis->to = stride;
    stride *= axis->count;
  }
  return MakeKernel([copy = StridedCopy(type, std::move(axes))](const KernelCall& call) {
    copy.Run(call.inputs[0], call.outputs[0]);
  });
}

Result<KernelPointer> MakeTranspose(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  Permutation order(data.dims.size());
  if (const auto* given = site.attributes().Ints("perm")) {
    order = *given;
    Permutation sorted = order;
    std::sort(sorted.begin(), sorted.end());
    Permutation expected(data.dims.size());
    std::iota(expected.begin(), expected.end(), 0);
    if (sorted != expected) {
      return site.BadInput(
          StrCat("perm [", Join(order, ","), "] is no order of ", data.rank(), " axes"));
    }
  } else {
    std::iota(order.rbegin(), order.rend(), 0);
  }
  return PermuteAxes(data.type, data.dims, order);
}

// The blocks of [batch, channels, height, width] and whether their depth comes first (DCR).
struct Blocks {
  int64_t size = 1;
  bool depth_first = true;
};

Result<Blocks> ReadBlocks(const KernelSite& site) {
  const std::string mode = site.attributes().String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    return site.Unsupported(StrCat("mode is '", mode, "', not DCR or CRD"));
  }
  const Blocks blocks{site.attributes().Int("blocksize", 0), mode == "DCR"};
  if (blocks.size < 1 || site.inputs[0].rank() != 4) {
    return site.BadInput(StrCat("it needs a tensor of rank 4 and a positive blocksize, but has ",
                                site.inputs[0].rank(), " and ", blocks.size));
  }
  return blocks;
}

Result<KernelPointer> MakeDepthToSpace(KernelSite& site) {
  PLIMSOLL_ASSIGN(const Blocks blocks, ReadBlocks(site));
  const Dims& in = site.inputs[0].dims;
  const int64_t size = blocks.size;
  const int64_t depth = in[1] / (size * size);
  if (blocks.depth_first) {
    return PermuteAxes(site.inputs[0].type, {in[0], size, size, depth, in[2], in[3]},
                       {0, 3, 4, 1, 5, 2});
  }
  return PermuteAxes(site.inputs[0].type, {in[0], depth, size, size, in[2], in[3]},
                     {0, 1, 4, 2, 5, 3});
}

Result<KernelPointer> MakeSpaceToDepth(KernelSite& site) {
  PLIMSOLL_ASSIGN(const Blocks blocks, ReadBlocks(site));
  const Dims& in = site.inputs[0].dims;
  const int64_t size = blocks.size;
  const Dims dims = {in[0], in[1], in[2] / size, size, in[3] / size, size};
  const Permutation order =
      blocks.depth_first ? Permutation{0, 3, 5, 1, 2, 4} : Permutation{0, 1, 3, 5, 2, 4};
  return PermuteAxes(site.inputs[0].type, dims, order);
}

constexpr KernelRow kTransposeRows[] = {
    {"", "Transpose", 1, graph::kNewest, MakeTranspose},
    {"", "DepthToSpace", 1, graph::kNewest, MakeDepthToSpace},
    {"", "SpaceToDepth", 1, graph::kNewest, MakeSpaceToDepth},
};

}  // namespace

std::span<const KernelRow> TransposeKernels() { return kTransposeRows; }

}  // namespace plimsoll::kernels::cpu
