#include <algorithm>
#include <limits>

#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

// Parts of a tensor: Slice and Split.
namespace plimsoll::graph::operators {
namespace {

// Bounds this far out mean "to the end" in every exporter.
constexpr int64_t kFarOut = std::numeric_limits<int32_t>::max();

// What is taken from one axis. `first` is a number where the whole cut is.
struct Cut {
  Dim first = 0;
  int64_t step = 1;
  Dim count;
};

// As numpy clamps: a negative bound counts from the end; a backward walk may end before the first.
int64_t Clamp(int64_t bound, int64_t length, int64_t step) {
  if (bound < 0) bound = SaturatingAdd(bound, length);
  return step > 0 ? std::clamp<int64_t>(bound, 0, length)
                  : std::clamp<int64_t>(bound, -1, length - 1);
}

Cut CutOfNumbers(int64_t start, int64_t end, int64_t step, int64_t length) {
  length = std::max<int64_t>(length, 0);
  const int64_t first = Clamp(start, length, step);
  const int64_t last = Clamp(end, length, step);
  const int64_t distance = step > 0 ? last - first : first - last;
  const int64_t stride = step > 0 ? step : SaturatingMultiply(step, -1);
  const int64_t count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return {first, step, count};
}

// Where a bound falls on an axis, some of it symbolic; nothing when its sign is not certain. A
// table of fixed length (positions, a mask) that is cut at a symbolic size is taken to be long
// enough.
std::optional<Dim> Resolve(const Dim& bound, const Dim& length) {
  if (bound.is_number() && bound.number() >= kFarOut) return length;
  if (IsNonNegative(bound) && !bound.is_number() && length.is_number()) return bound;
  if (IsNonNegative(bound)) return Dim::Min(bound, length);
  if (bound.is_number() && bound.number() <= -kFarOut) return Dim(0);
  if (IsNonNegative(Dim(0) - bound)) return Dim::Max(length + bound, 0);
  return std::nullopt;
}

std::optional<Cut> CutOfSymbols(const Dim& start, const Dim& end, int64_t step, const Dim& length) {
  if (step < 0) {
    const bool whole = start.is_number() && end.is_number() && end.number() <= -kFarOut &&
                       (start.number() == -1 || start.number() >= kFarOut);
    if (!whole) return std::nullopt;
    return Cut{length - 1, step, Dim::CeilDiv(length, SaturatingMultiply(step, -1))};
  }
  const std::optional<Dim> first = Resolve(start, length);
  const std::optional<Dim> last = Resolve(end, length);
  if (!first || !last) return std::nullopt;
  return Cut{*first, step, Dim::CeilDiv(Dim::Max(*last - *first, 0), step)};
}

std::optional<Cut> MakeCut(const Dim& start, const Dim& end, int64_t step, const Dim& length) {
  if (start.is_number() && end.is_number() && length.is_number()) {
    return CutOfNumbers(start.number(), end.number(), step, length.number());
  }
  return CutOfSymbols(start, end, step, length);
}

// The arguments of a Slice: attributes before version 10, inputs since. Absent pointers: unknown.
struct SliceArguments {
  const std::vector<Dim>* starts = nullptr;
  const std::vector<Dim>* ends = nullptr;
  std::optional<std::vector<int64_t>> axes;   // nothing: not known
  std::optional<std::vector<int64_t>> steps;  // nothing: not known
};

std::vector<int64_t> FirstAxes(size_t count) {
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < count; ++axis) axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

Status TakeSlices(InferContext& context, DataType type, const SliceArguments& arguments) {
  const Shape& shape = *context.input_shape(0);
  if (!arguments.axes) {
    context.SetOutput(0, type, UnknownShape(context, 0, static_cast<int64_t>(shape.size())));
    return {};
  }
  PLIMSOLL_ASSIGN(const std::vector<int64_t> axes,
                  DistinctAxes(context, *arguments.axes, static_cast<int64_t>(shape.size())));
  const auto fits = [&](size_t size) { return size == axes.size(); };
  if ((arguments.starts != nullptr && !fits(arguments.starts->size())) ||
      (arguments.ends != nullptr && !fits(arguments.ends->size())) ||
      (arguments.steps && !fits(arguments.steps->size()))) {
    return context.Fail(
        StrCat("starts, ends and steps must each have the ", axes.size(), " elements of axes"));
  }
  Shape made = shape;
  std::vector<Cut> cuts;
  for (const Dim& dim : shape) cuts.push_back({0, 1, dim});
  bool all_known = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t step = arguments.steps ? (*arguments.steps)[i] : 1;
    if (step == 0) return context.Fail(StrCat("the step on axis ", axes[i], " is 0"));
    std::optional<Cut> cut;
    if (arguments.starts != nullptr && arguments.ends != nullptr && arguments.steps) {
      cut = MakeCut((*arguments.starts)[i], (*arguments.ends)[i], step, shape[axes[i]]);
    }
    made[axes[i]] = cut ? cut->count : context.UnknownDim(0, axes[i]);
    if (cut) cuts[axes[i]] = *std::move(cut);
    all_known = all_known && made[axes[i]].is_number();
  }
  context.SetOutput(0, type, made);
  const Content* content = KnownContent(context, 0);
  if (content == nullptr || content->size() == 0 || !all_known) return {};
  std::vector<int64_t> strides = Strides(shape);
  int64_t first = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!cuts[axis].first.is_number()) return {};
    first += strides[axis] * cuts[axis].first.number();
    // One element needs no stride, and a huge one would overflow.
    strides[axis] = made[axis].number() > 1 ? strides[axis] * cuts[axis].step : 0;
  }
  context.SetContent(0, Pick(*content, StridedPositions(made, strides, first)));
  return {};
}

Status InferSliceByAttributes(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const auto* starts = context.attributes().Ints("starts");
  const auto* ends = context.attributes().Ints("ends");
  if (starts == nullptr || ends == nullptr) return context.Fail("it lacks starts or ends");
  if (context.input_shape(0) == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const std::vector<Dim> first = ShapeOf(*starts);
  const std::vector<Dim> last = ShapeOf(*ends);
  const auto* axes = context.attributes().Ints("axes");
  SliceArguments arguments{&first, &last, axes == nullptr ? FirstAxes(first.size()) : *axes, {}};
  arguments.steps = std::vector<int64_t>(arguments.axes->size(), 1);
  return TakeSlices(context, type, arguments);
}

Status InferSlice(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  SliceArguments arguments{context.input_dims(1), context.input_dims(2), {}, {}};
  if (context.has_input(3)) {
    arguments.axes = context.input_integers(3);
  } else if (arguments.starts != nullptr) {
    arguments.axes = FirstAxes(arguments.starts->size());
  }
  if (context.has_input(4)) {
    arguments.steps = context.input_integers(4);
  } else if (arguments.axes) {
    arguments.steps = std::vector<int64_t>(arguments.axes->size(), 1);
  }
  return TakeSlices(context, type, arguments);
}

constexpr OperatorFacts kSliceByAttribute = {.view = View::kSlice};
constexpr OperatorFacts kSlice = {.view = View::kSlice, .host_inputs = Inputs(1, 2, 3, 4)};

constexpr OperatorRow kSliceRows[] = {
    {"", "Slice", 1, 9, 1, 1, 1, 1, InferSliceByAttributes, kSliceByAttribute},
    {"", "Slice", 10, kNewest, 3, 5, 1, 1, InferSlice, kSlice},
};

}  // namespace

std::span<const OperatorRow> SliceRows() { return kSliceRows; }

}  // namespace plimsoll::graph::operators
