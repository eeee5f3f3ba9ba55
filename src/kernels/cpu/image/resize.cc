#include <algorithm>
#include <numeric>

#include "kernels/cpu/convolution/separable_filter.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/image/resize_axis.h"
#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/cpu/movement/table_copy.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

// Tensors resampled along their axes: Resize and its older form Upsample.
namespace plimsoll::kernels::cpu {
namespace {

Result<ResizeMode> ReadMode(const KernelSite& site) {
  const graph::Attributes& attributes = site.attributes();
  ResizeMode mode;
  const std::string kind = attributes.String("mode", "nearest");
  if (kind == "linear" || kind == "bilinear") {
    mode.kind = ResizeMode::Kind::kLinear;
  } else if (kind == "cubic") {
    mode.kind = ResizeMode::Kind::kCubic;
  } else if (kind != "nearest") {
    return site.Unsupported(StrCat("mode is '", kind, "'"));
  }
  if (site.node().op == "Upsample" || site.node().version < 11) {
    mode.coordinates = "asymmetric";
    mode.rounding = "floor";
    return mode;
  }
  mode.coordinates = attributes.String("coordinate_transformation_mode", "half_pixel");
  mode.rounding = attributes.String("nearest_mode", "round_prefer_floor");
  mode.cubic = attributes.Float("cubic_coeff_a", -0.75);
  mode.exclude_outside = attributes.Int("exclude_outside", 0) != 0;
  mode.antialias = attributes.Int("antialias", 0) != 0;
  return mode;
}

// The scales, where the node gives them; empty where it gives sizes.
std::vector<double> ReadScales(const KernelSite& site) {
  if (const auto* scales = site.attributes().Floats("scales")) return *scales;
  const size_t input = site.node().op == "Upsample" || site.node().version < 11 ? 1 : 2;
  return site.has_input(input) ? site.inputs[input].Doubles() : std::vector<double>();
}

// With a kept aspect ratio all axes are scaled by the one factor that the sizes allow.
void ScaleToSizes(const KernelSite& site, const std::vector<int64_t>& axes,
                  std::vector<ResizedAxis>& resized) {
  const std::string policy = site.attributes().String("keep_aspect_ratio_policy", "stretch");
  const std::vector<int64_t> sizes = site.has_input(3) ? site.inputs[3].Integers() : Dims();
  std::vector<double> factors;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedAxis& axis = resized[axes[i]];
    axis.scale = static_cast<double>(axis.to) / static_cast<double>(axis.from);
    if (i < sizes.size()) {
      factors.push_back(static_cast<double>(sizes[i]) / static_cast<double>(axis.from));
    }
  }
  if (policy == "stretch" || factors.empty()) return;
  const double factor = policy == "not_larger" ? *std::min_element(factors.begin(), factors.end())
                                               : *std::max_element(factors.begin(), factors.end());
  for (const int64_t axis : axes) resized[axis].scale = factor;
}

Result<std::vector<ResizedAxis>> ReadAxes(const KernelSite& site, const ResizeMode& mode) {
  const TensorInfo& data = site.inputs[0];
  std::vector<int64_t> axes(data.dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  const auto* given = site.attributes().Ints("axes");
  if (given != nullptr && !given->empty()) axes = *given;
  std::vector<ResizedAxis> resized;
  for (size_t axis = 0; axis < data.dims.size(); ++axis) {
    resized.push_back({.from = data.dims[axis], .to = site.outputs[0].dims[axis]});
  }
  for (int64_t& axis : axes) {
    PLIMSOLL_ASSIGN(axis, NormalAxis(site, axis, data.rank()));
    if (data.dims[axis] == 0 && site.outputs[0].dims[axis] > 0) {
      return site.BadInput(StrCat("axis ", axis, " is empty and cannot be resized"));
    }
  }
  const std::vector<double> scales = ReadScales(site);
  if (scales.empty()) {
    ScaleToSizes(site, axes, resized);
  } else if (scales.size() != axes.size()) {
    return site.BadInput(StrCat("there are ", scales.size(), " scales for ", axes.size(), " axes"));
  }
  for (size_t i = 0; i < scales.size(); ++i) resized[axes[i]].scale = scales[i];
  if (mode.coordinates != "tf_crop_and_resize") return resized;
  const std::vector<double> region =
      site.has_input(1) ? site.inputs[1].Doubles() : std::vector<double>();
  if (region.size() != 2 * axes.size()) {
    return site.Unsupported("the region is not known before the run, or not one pair per axis");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    resized[axes[i]].region_start = region[i];
    resized[axes[i]].region_end = region[i + axes.size()];
  }
  return resized;
}

// The element that stands for places outside the input.
struct Extrapolation {
  alignas(16) std::byte element[16] = {};

  explicit Extrapolation(const KernelSite& site) {
    const double value = site.attributes().Float("extrapolation_value", 0);
    if (value != 0) StoreDouble(site.inputs[0].type, element, 0, value);
  }
};

Result<KernelPointer> MakeNearest(const KernelSite& site, const std::vector<AxisWeights>& weights) {
  const TensorInfo& data = site.inputs[0];
  if (!TableCopy::Supports(data.type)) return site.Unsupported("data of a type below a byte");
  std::vector<Dims> tables;
  for (const AxisWeights& axis : weights) {
    tables.push_back(axis.places);
    for (size_t i = 0; i < axis.outside.size(); ++i) {
      if (axis.outside[i]) tables.back()[i] = TableCopy::kOutside;
    }
  }
  if (data.type == graph::DataType::kString) {
    return MakeKernel(
        [copy = TableCopy(data.type, data.dims, std::move(tables))](const KernelCall& call) {
          copy.Run(call.inputs[0], call.outputs[0], nullptr);
        });
  }
  return MakeKernel([copy = TableCopy(data.type, data.dims, std::move(tables)),
                     outside = Extrapolation(site)](const KernelCall& call) {
    copy.Run(call.inputs[0], call.outputs[0], outside.element);
  });
}

// The slabs of the output that lie outside the input along some axis, each filled from one element.
std::vector<StridedCopy> SlabsOutside(const KernelSite& site,
                                      const std::vector<AxisWeights>& weights) {
  const TensorInfo& out = site.outputs[0];
  std::vector<StridedCopy> slabs;
  for (size_t axis = 0; axis < weights.size(); ++axis) {
    const AxisSplit split = SplitAt(out.dims, static_cast<int64_t>(axis));
    for (size_t i = 0; i < weights[axis].outside.size(); ++i) {
      if (!weights[axis].outside[i]) continue;
      const std::vector<CopyAxis> box = {{split.outer, 0, split.length * split.inner},
                                         {split.inner, 0, 1}};
      slabs.emplace_back(out.type, box, 0, static_cast<int64_t>(i) * split.inner);
    }
  }
  return slabs;
}

Result<KernelPointer> MakeResize(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  PLIMSOLL_ASSIGN(const ResizeMode mode, ReadMode(site));
  PLIMSOLL_ASSIGN(const std::vector<ResizedAxis> resized, ReadAxes(site, mode));
  std::vector<AxisWeights> weights;
  for (const ResizedAxis& axis : resized) weights.push_back(WeightsAlong(mode, axis));
  if (mode.kind == ResizeMode::Kind::kNearest) return MakeNearest(site, weights);
  if (!SeparableFilter::Supports(data.type)) {
    return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  }
  std::vector<SeparableFilter::Axis> filtered;
  for (size_t axis = 0; axis < weights.size(); ++axis) {
    if (!weights[axis].IsIdentity(resized[axis])) {
      filtered.push_back({static_cast<int64_t>(axis), weights[axis]});
    }
  }
  if (filtered.empty()) {
    const StridedCopy copy(data.type, {{data.elements(), 1, 1}});
    return MakeKernel(
        [copy](const KernelCall& call) { copy.Run(call.inputs[0], call.outputs[0]); });
  }
  const SeparableFilter filter(data.type, data.dims, site.outputs[0].dims, filtered);
  return MakeKernel(
      [filter, slabs = SlabsOutside(site, weights),
       outside = Extrapolation(site)](const KernelCall& call) {
        filter.Run(call.inputs[0], call.outputs[0], call.workspace);
        for (const StridedCopy& slab : slabs) slab.Run(outside.element, call.outputs[0]);
      },
      filter.workspace(), "rows worked out along the other axes");
}

constexpr KernelRow kResizeRows[] = {
    {"", "Resize", 10, graph::kNewest, MakeResize},
    {"", "Upsample", 7, graph::kNewest, MakeResize},
};

}  // namespace

std::span<const KernelRow> ResizeKernels() { return kResizeRows; }

}  // namespace plimsoll::kernels::cpu
