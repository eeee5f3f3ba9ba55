#include <algorithm>

#include "kernels/cpu/families.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// What sliding windows took from an image put back: Col2Im adds columns of blocks up, MaxUnpool
// puts maxima back where they were found. Both write into zeros: the plan's, where it clears their
// output, else their own.
namespace plimsoll::kernels::cpu {
namespace {

Dims AttributeOr(const KernelSite& site, std::string_view name, size_t count, int64_t otherwise) {
  const auto* given = site.attributes().Ints(name);
  Dims values = given == nullptr ? Dims() : *given;
  values.resize(count, otherwise);
  return values;
}

// One axis of the image: the blocks along it, and the elements of a block.
struct FoldedAxis {
  int64_t length;
  int64_t blocks;
  int64_t block;
  int64_t stride;
  int64_t dilation;
  int64_t pad;
  int64_t image_stride;
};

// Walks the elements of a block, then the blocks, and gives visit(place of the image, inside) for
// each, in the order in which the columns hold them.
template <typename Visit>
void WalkColumns(std::span<const FoldedAxis> axes, size_t level, int64_t base, bool inside,
                 int64_t* chosen, const Visit& visit) {
  const size_t rank = axes.size();
  if (level == 2 * rank) return visit(base, inside);
  const FoldedAxis& axis = axes[level % rank];
  if (level < rank) {
    for (int64_t i = 0; i < axis.block; ++i) {
      chosen[level] = i * axis.dilation - axis.pad;
      WalkColumns(axes, level + 1, base, inside, chosen, visit);
    }
    return;
  }
  for (int64_t i = 0; i < axis.blocks; ++i) {
    const int64_t place = chosen[level - rank] + i * axis.stride;
    const bool fits = place >= 0 && place < axis.length;
    WalkColumns(axes, level + 1, base + place * axis.image_stride, inside && fits, chosen, visit);
  }
}

constexpr size_t kMostAxes = 8;

template <typename T>
void RunFold(const KernelCall& call, std::span<const FoldedAxis> axes, int64_t images,
             int64_t image_size, bool cleared) {
  const auto* from = static_cast<const T*>(call.inputs[0]);
  auto* to = static_cast<T*>(call.outputs[0]);
  if (!cleared) std::fill_n(to, images * image_size, T());
  int64_t chosen[kMostAxes];
  for (int64_t image = 0; image < images; ++image) {
    T* target = to + image * image_size;
    WalkColumns(axes, 0, 0, true, chosen, [&](int64_t place, bool inside) {
      if (inside) target[place] = static_cast<T>(Wide<T>(target[place]) + Wide<T>(*from));
      ++from;
    });
  }
}

Result<KernelPointer> MakeCol2Im(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  const Dims image(site.outputs[0].dims.begin() + 2, site.outputs[0].dims.end());
  const size_t rank = image.size();
  const Dims block = site.inputs[2].Integers();
  if (rank > kMostAxes) return site.Unsupported(StrCat("an image of ", rank, " axes"));
  if (block.size() != rank) return site.BadInput("block_shape does not fit image_shape");
  const Dims strides = AttributeOr(site, "strides", rank, 1);
  const Dims dilations = AttributeOr(site, "dilations", rank, 1);
  const Dims pads = AttributeOr(site, "pads", 2 * rank, 0);
  const Dims image_strides = StridesOf(image);
  std::vector<FoldedAxis> axes;
  int64_t columns = 1;
  for (size_t i = 0; i < rank; ++i) {
    if (strides[i] < 1 || dilations[i] < 1 || block[i] < 1) {
      return site.BadInput("strides, dilations and blocks must be positive");
    }
    const int64_t room = image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1;
    const int64_t blocks = room < 0 ? 0 : room / strides[i] + 1;
    axes.push_back(
        {image[i], blocks, block[i], strides[i], dilations[i], pads[i], image_strides[i]});
    columns *= blocks;
  }
  if (columns != data.dims[2] || ElementCount(block) * site.outputs[0].dims[1] != data.dims[1]) {
    return site.BadInput(
        StrCat("there are ", data.dims[2], " blocks where the image has room for ", columns));
  }
  const int64_t images = site.outputs[0].dims[0] * site.outputs[0].dims[1];
  KernelPointer kernel;
  VisitType<AllNumbers>(data.type, [&]<typename T>() {
    kernel =
        MakeKernel([axes, images, size = ElementCount(image), cleared = site.outputs_cleared](
                       const KernelCall& call) { RunFold<T>(call, axes, images, size, cleared); });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

// The shape that the indices speak of: what the windows cover, whatever shape is asked for.
Dims PooledShape(const KernelSite& site) {
  Dims dims = site.inputs[0].dims;
  const size_t rank = dims.size() - 2;
  const Dims kernel = AttributeOr(site, "kernel_shape", rank, 1);
  const Dims strides = AttributeOr(site, "strides", rank, 1);
  const Dims pads = AttributeOr(site, "pads", 2 * rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    dims[i + 2] = (dims[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i];
  }
  return dims;
}

Result<KernelPointer> MakeMaxUnpool(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  if (data.rank() < 3 || site.inputs[1].dims != data.dims) {
    return site.BadInput("data and indices must have one shape, with batch and channels");
  }
  const Dims indexed = PooledShape(site);
  const Dims& out = site.outputs[0].dims;
  KernelPointer kernel;
  VisitType<AllFloats>(data.type, [&]<typename T>() {
    kernel = MakeKernel([indexed, indexed_strides = StridesOf(indexed), out,
                         out_strides = StridesOf(out), count = data.elements(),
                         cleared = site.outputs_cleared, same = indexed == out,
                         outside = site.BadInput("")](const KernelCall& call) -> Status {
      const auto* from = static_cast<const T*>(call.inputs[0]);
      const auto* indices = static_cast<const int64_t*>(call.inputs[1]);
      auto* to = static_cast<T*>(call.outputs[0]);
      if (!cleared) std::fill_n(to, ElementCount(out), T());
      const int64_t room = ElementCount(indexed);
      for (int64_t i = 0; i < count; ++i) {
        if (indices[i] < 0 || indices[i] >= room) return IndexOutside(outside, indices[i], room);
        if (same) {
          to[indices[i]] = from[i];
          continue;
        }
        int64_t at = 0;
        for (size_t axis = 0; axis < out.size(); ++axis) {
          const int64_t place = indices[i] / indexed_strides[axis] % indexed[axis];
          if (place >= out[axis]) return IndexOutside(outside, place, out[axis]);
          at += place * out_strides[axis];
        }
        to[at] = from[i];
      }
      return {};
    });
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kFoldRows[] = {
    {"", "Col2Im", 18, graph::kNewest, MakeCol2Im},
    {"", "MaxUnpool", 9, graph::kNewest, MakeMaxUnpool},
};

}  // namespace

std::span<const KernelRow> FoldKernels() { return kFoldRows; }

}  // namespace plimsoll::kernels::cpu
