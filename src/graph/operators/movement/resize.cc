#include "graph/operators/movement/resize.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/operators/agreement.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Beyond this a scaled size is no longer exact, and no tensor is that long.
constexpr double kLargestSize = 9e15;

// floor(size * scale). A symbolic size stays exact where the scale is a fraction of powers of two,
// as in 2, 0.5 or 1.75; nothing otherwise.
std::optional<Dim> Scaled(const Dim& size, double scale) {
  if (size.is_number()) {
    // The standard's scales are 32-bit floats and so is its product: 0.6 of 5 is 3.
    const double product = std::floor(
        static_cast<double>(static_cast<float>(size.number()) * static_cast<float>(scale)));
    if (!(product >= 0 && product <= kLargestSize)) return std::nullopt;
    return Dim(static_cast<int64_t>(product));
  }
  for (int64_t divisor = 1; divisor <= 4096; divisor *= 2) {
    const double multiple = scale * static_cast<double>(divisor);
    if (multiple > kLargestSize) return std::nullopt;
    if (multiple != std::floor(multiple)) continue;
    return Dim::FloorDiv(size * static_cast<int64_t>(multiple), divisor);
  }
  return std::nullopt;
}

// The axes that scales and sizes speak of: attribute `axes`, or all.
Result<std::vector<size_t>> ReadAxesOf(const InferContext& context, const Shape& data) {
  std::vector<size_t> axes;
  const std::vector<int64_t>* given = context.attributes().Ints("axes");
  if (given == nullptr || given->empty()) {
    for (size_t axis = 0; axis < data.size(); ++axis) axes.push_back(axis);
    return axes;
  }
  for (int64_t axis : *given) {
    const std::optional<int64_t> normal = NormalizeAxis(axis, static_cast<int64_t>(data.size()));
    if (!normal || std::count(axes.begin(), axes.end(), static_cast<size_t>(*normal)) > 0) {
      return context.Fail(StrCat("axis ", axis, " is outside of ", Text(data), " or repeated"));
    }
    axes.push_back(static_cast<size_t>(*normal));
  }
  return axes;
}

Status CheckCount(const InferContext& context, std::string_view what, size_t count,
                  const std::vector<size_t>& axes) {
  if (count == axes.size()) return {};
  return context.Fail(
      StrCat("there are ", count, " ", what, " for ", axes.size(), " resized axes"));
}

Result<Shape> ResizedByScales(const InferContext& context, Shape shape,
                              const std::vector<size_t>& axes, const std::vector<double>& scales) {
  PLIMSOLL_TRY(CheckCount(context, "scales", scales.size(), axes));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!(scales[i] > 0)) return context.Fail(StrCat("a scale is ", scales[i]));
    Dim& size = shape[axes[i]];
    size = Scaled(size, scales[i]).value_or(context.UnknownDim(0, axes[i]));
  }
  return shape;
}

// Both policies that keep the aspect ratio scale every axis by one factor: the least, or the
// greatest, of those that the sizes ask for.
void KeepAspectRatio(const InferContext& context, bool least, const std::vector<size_t>& axes,
                     const Shape& data, Shape& shape) {
  std::optional<double> factor;
  for (size_t axis : axes) {
    if (!shape[axis].is_number() || !data[axis].is_number() || data[axis].number() <= 0) {
      for (size_t unknown : axes) shape[unknown] = context.UnknownDim(0, unknown);
      return;
    }
    const double wanted =
        static_cast<double>(shape[axis].number()) / static_cast<double>(data[axis].number());
    if (!factor) factor = wanted;
    factor = least ? std::min(*factor, wanted) : std::max(*factor, wanted);
  }
  for (size_t axis : axes) {
    const double size = std::floor(*factor * static_cast<double>(data[axis].number()) + 0.5);
    shape[axis] =
        size <= kLargestSize ? Dim(static_cast<int64_t>(size)) : context.UnknownDim(0, axis);
  }
}

Result<Shape> ResizedToSizes(const InferContext& context, const Shape& data,
                             const std::vector<size_t>& axes, const std::vector<Dim>& sizes) {
  PLIMSOLL_TRY(CheckCount(context, "sizes", sizes.size(), axes));
  Shape shape = data;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (sizes[i].is_number() && sizes[i].number() < 0) {
      return context.Fail(StrCat("a size is ", sizes[i].number()));
    }
    shape[axes[i]] = sizes[i];
  }
  const std::string policy = context.attributes().String("keep_aspect_ratio_policy", "stretch");
  if (policy == "not_larger" || policy == "not_smaller") {
    KeepAspectRatio(context, policy == "not_larger", axes, data, shape);
  } else if (policy != "stretch") {
    return context.Fail(StrCat("keep_aspect_ratio_policy is '", policy,
                               "', not stretch, not_larger or not_smaller"));
  }
  return shape;
}

// The scales with the part of each axis that is cropped out multiplied in.
std::optional<std::vector<double>> CroppedScales(const InferContext& context,
                                                 std::vector<double> scales) {
  const std::string mode = context.attributes().String("coordinate_transformation_mode", "");
  if (mode != "tf_crop_and_resize") return scales;
  const std::optional<std::vector<double>> region = context.input_doubles(1);
  if (!region || region->size() != 2 * scales.size()) return std::nullopt;
  for (size_t i = 0; i < scales.size(); ++i) {
    scales[i] *= (*region)[i + scales.size()] - (*region)[i];
    if (!(scales[i] > 0)) return std::nullopt;
  }
  return scales;
}

// An input that is left out may also be given as a tensor of no elements.
bool IsGiven(const InferContext& context, size_t input) {
  const std::optional<Dim> count = DimOf(context, input, 0);
  return context.has_input(input) && !(count && *count == Dim(0));
}

}  // namespace

Status InferResize(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  const DataType type = context.input_data_type(0);
  const Shape* data = context.input_shape(0);
  if (data == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  PLIMSOLL_ASSIGN(const std::vector<size_t> axes, ReadAxesOf(context, *data));
  const bool by_sizes = IsGiven(context, 3);
  if (!by_sizes && !IsGiven(context, 2)) return context.Fail("neither scales nor sizes are given");
  Shape shape = *data;
  if (const std::vector<Dim>* sizes = context.input_dims(3); by_sizes && sizes != nullptr) {
    PLIMSOLL_ASSIGN(shape, ResizedToSizes(context, *data, axes, *sizes));
  } else if (std::optional<std::vector<double>> scales = context.input_doubles(2);
             !by_sizes && scales && (scales = CroppedScales(context, *std::move(scales)))) {
    PLIMSOLL_ASSIGN(shape, ResizedByScales(context, std::move(shape), axes, *scales));
  } else {
    for (size_t axis : axes) shape[axis] = context.UnknownDim(0, axis);
  }
  context.SetOutput(0, type, std::move(shape));
  return {};
}

namespace {

Status InferByScales(InferContext& context, const std::vector<double>* scales) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  const DataType type = context.input_data_type(0);
  const Shape* data = context.input_shape(0);
  if (data == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  Shape shape = *data;
  PLIMSOLL_ASSIGN(const std::vector<size_t> axes, ReadAxesOf(context, *data));
  if (scales != nullptr) {
    PLIMSOLL_ASSIGN(shape, ResizedByScales(context, std::move(shape), axes, *scales));
  } else {
    for (size_t axis : axes) shape[axis] = context.UnknownDim(0, axis);
  }
  context.SetOutput(0, type, std::move(shape));
  return {};
}

}  // namespace

Status InferResizeByScales(InferContext& context) {
  const std::optional<std::vector<double>> scales = context.input_doubles(1);
  return InferByScales(context, scales ? &*scales : nullptr);
}

Status InferUpsampleByAttribute(InferContext& context) {
  const std::vector<double>* scales = context.attributes().Floats("scales");
  if (scales == nullptr) return context.Fail("attribute scales is missing");
  return InferByScales(context, scales);
}

}  // namespace plimsoll::graph::operators
