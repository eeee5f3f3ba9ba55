#include <algorithm>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/element_math.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Reductions along axes, and what runs along one axis: arg-reductions, cumulation, top-k.
namespace plimsoll::graph::operators {
namespace {

using Combine = std::optional<Dim> (*)(const Dim&, const Dim&);

// Which axes go; nothing while they are not known. No axes means all, unless the node says none.
Result<std::optional<std::vector<bool>>> ReducedAxes(const InferContext& context, int64_t rank) {
  const AxesArgument argument = ReadAxes(context, 1);
  if (argument.given && !argument.axes) return std::optional<std::vector<bool>>();
  if (!argument.given || argument.axes->empty()) {
    const bool none = context.attributes().Int("noop_with_empty_axes", 0) != 0;
    return std::optional(std::vector<bool>(static_cast<size_t>(rank), !none));
  }
  std::vector<bool> reduced(static_cast<size_t>(rank));
  for (const int64_t axis : *argument.axes) {
    const std::optional<int64_t> place = NormalizeAxis(axis, rank);
    if (!place) {
      return context.Fail(StrCat("axis ", axis, " is outside ", Text(*context.input_shape(0))));
    }
    reduced[*place] = true;
  }
  return std::optional(std::move(reduced));
}

Shape Reduced(const Shape& shape, const std::vector<bool>& reduced, bool keep) {
  Shape made;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!reduced[axis]) {
      made.push_back(shape[axis]);
    } else if (keep) {
      made.emplace_back(1);
    }
  }
  return made;
}

void ReduceContent(InferContext& context, Combine combine, const std::vector<bool>& reduced) {
  const Content* content = KnownContent(context, 0);
  if (content == nullptr || content->dims() == nullptr || combine == nullptr) return;
  const Shape& shape = *context.input_shape(0);
  const Shape kept = Reduced(shape, reduced, /*keep=*/true);
  const std::optional<int64_t> count = SmallCount(kept);
  if (!count || content->size() == 0) return;
  const std::vector<int64_t> places = BroadcastPositions(kept, shape);
  std::vector<std::optional<Dim>> made(static_cast<size_t>(*count));
  for (size_t i = 0; i < content->size(); ++i) {
    std::optional<Dim>& total = made[places[i]];
    const Dim& element = (*content->dims())[i];
    total = total ? combine(*total, element) : std::optional<Dim>(element);
    if (!total) return;
  }
  std::vector<Dim> elements;
  for (const std::optional<Dim>& total : made) elements.push_back(*total);
  OfferContent(context, 0, context.input_data_type(0), Content{std::move(elements)});
}

Status InferReduceWith(InferContext& context, Combine combine) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const auto rank = static_cast<int64_t>(shape->size());
  const bool keep = context.attributes().Int("keepdims", 1) != 0;
  PLIMSOLL_ASSIGN(const std::optional<std::vector<bool>> reduced, ReducedAxes(context, rank));
  if (!reduced) {
    if (keep) {
      context.SetOutput(0, type, UnknownShape(context, 0, rank));
    } else {
      context.SetOutputOfUnknownRank(0, type);
    }
    return {};
  }
  context.SetOutput(0, type, Reduced(*shape, *reduced, keep));
  ReduceContent(context, combine, *reduced);
  return {};
}

template <Combine kCombine>
Status InferReduce(InferContext& context) {
  return InferReduceWith(context, kCombine);
}

Status InferArg(InferContext& context) {
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutputOfUnknownRank(0, DataType::kInt64);
    return {};
  }
  PLIMSOLL_ASSIGN(const int64_t axis,
                  AxisAttribute(context, 0, static_cast<int64_t>(shape->size())));
  std::vector<bool> reduced(shape->size());
  reduced[axis] = true;
  context.SetOutput(0, DataType::kInt64,
                    Reduced(*shape, reduced, context.attributes().Int("keepdims", 1) != 0));
  return {};
}

// CumSum and CumProd: the axis is an input.
Status InferCumulative(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  const std::optional<Dim> axis = ScalarOf(context, 1);
  if (shape != nullptr && axis && axis->is_number() &&
      !NormalizeAxis(axis->number(), static_cast<int64_t>(shape->size()))) {
    return context.Fail(StrCat("axis ", axis->number(), " is outside ", Text(*shape)));
  }
  return InferLikeFirst(context);
}

// How many to keep: an attribute before version 10, an input since.
std::optional<Dim> TopCount(const InferContext& context) {
  if (context.version() >= 10) return ScalarOf(context, 1);
  if (context.attributes().Find("k") == nullptr) return std::nullopt;
  return Dim(context.attributes().Int("k", 0));
}

Status InferTopK(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  std::optional<Shape> made;
  if (const Shape* shape = context.input_shape(0)) {
    PLIMSOLL_ASSIGN(const int64_t axis,
                    AxisAttribute(context, -1, static_cast<int64_t>(shape->size())));
    const std::optional<Dim> count = TopCount(context);
    const Dim& along = (*shape)[axis];
    if (count && count->is_number() &&
        (count->number() < 0 || (along.is_number() && count->number() > along.number()))) {
      return context.Fail(StrCat("cannot take the top ", count->number(), " along axis ", axis,
                                 " of ", Text(*shape)));
    }
    made = *shape;
    (*made)[axis] = count ? *count : context.UnknownDim(0, axis);
  }
  SetTensor(context, 0, type, made);
  SetTensor(context, 1, DataType::kInt64, made);
  return {};
}

// ReduceMean has no content: a quotient of sizes is rarely a size.
constexpr Combine kNoContent = nullptr;

constexpr OperatorFacts kCumulative = {.in_place_inputs = Inputs(0), .host_inputs = Inputs(1)};

constexpr OperatorRow kReductionRows[] = {
    {"", "ReduceSum", 1, 12, 1, 1, 1, 1, InferReduce<Add>},
    {"", "ReduceSum", 13, kNewest, 1, 2, 1, 1, InferReduce<Add>, HostInputs(1)},
    {"", "ReduceProd", 1, 17, 1, 1, 1, 1, InferReduce<Multiply>},
    {"", "ReduceProd", 18, kNewest, 1, 2, 1, 1, InferReduce<Multiply>, HostInputs(1)},
    {"", "ReduceMax", 1, 17, 1, 1, 1, 1, InferReduce<Larger>},
    {"", "ReduceMax", 18, kNewest, 1, 2, 1, 1, InferReduce<Larger>, HostInputs(1)},
    {"", "ReduceMin", 1, 17, 1, 1, 1, 1, InferReduce<Smaller>},
    {"", "ReduceMin", 18, kNewest, 1, 2, 1, 1, InferReduce<Smaller>, HostInputs(1)},
    {"", "ReduceMean", 1, 17, 1, 1, 1, 1, InferReduce<kNoContent>},
    {"", "ReduceMean", 18, kNewest, 1, 2, 1, 1, InferReduce<kNoContent>, HostInputs(1)},
    {"", "ReduceL1", 1, 17, 1, 1, 1, 1, InferReduce<kNoContent>},
    {"", "ReduceL1", 18, kNewest, 1, 2, 1, 1, InferReduce<kNoContent>, HostInputs(1)},
    {"", "ReduceL2", 1, 17, 1, 1, 1, 1, InferReduce<kNoContent>},
    {"", "ReduceL2", 18, kNewest, 1, 2, 1, 1, InferReduce<kNoContent>, HostInputs(1)},
    {"", "ReduceLogSum", 1, 17, 1, 1, 1, 1, InferReduce<kNoContent>},
    {"", "ReduceLogSum", 18, kNewest, 1, 2, 1, 1, InferReduce<kNoContent>, HostInputs(1)},
    {"", "ReduceLogSumExp", 1, 17, 1, 1, 1, 1, InferReduce<kNoContent>},
    {"", "ReduceLogSumExp", 18, kNewest, 1, 2, 1, 1, InferReduce<kNoContent>, HostInputs(1)},
    {"", "ReduceSumSquare", 1, 17, 1, 1, 1, 1, InferReduce<kNoContent>},
    {"", "ReduceSumSquare", 18, kNewest, 1, 2, 1, 1, InferReduce<kNoContent>, HostInputs(1)},
    {"", "ArgMax", 1, kNewest, 1, 1, 1, 1, InferArg},
    {"", "ArgMin", 1, kNewest, 1, 1, 1, 1, InferArg},
    {"", "CumSum", 11, kNewest, 2, 2, 1, 1, InferCumulative, kCumulative},
    {"", "CumProd", 26, kNewest, 2, 2, 1, 1, InferCumulative, kCumulative},
    {"", "TopK", 1, 9, 1, 1, 2, 2, InferTopK},
    {"", "TopK", 10, kNewest, 2, 2, 2, 2, InferTopK, HostInputs(1)},
};

}  // namespace

std::span<const OperatorRow> ReductionRows() { return kReductionRows; }

}  // namespace plimsoll::graph::operators
