#include <algorithm>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// The same elements in the same order under another shape; and Transpose, Concat, Identity.
namespace plimsoll::graph::operators {
namespace {

// Product of the dimensions [first, last).
Dim Product(const Shape& shape, size_t first, size_t last) {
  return ElementCount(Shape(shape.begin() + first, shape.begin() + last));
}

// Works out the dimension written -1. Dimensions that the target copies with a 0 cancel, so that
// [0,3] -> [0,-1] is [0,3] although a division by zero would not say so.
Result<Dim> InferredDim(const InferContext& context, const Shape& shape,
                        const std::vector<bool>& copied, const Dim& others) {
  Shape left;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis >= copied.size() || !copied[axis]) left.push_back(shape[axis]);
  }
  const Dim elements = ElementCount(left);
  if (std::optional<Dim> even = Dim::ExactDiv(elements, others)) return *even;
  if (!elements.is_number() || !others.is_number()) return Dim::FloorDiv(elements, others);
  return context.Fail(StrCat("the elements of ", Text(shape), " do not fill the target: ",
                             elements.number(), " over ", others.number(), " leaves a rest"));
}

Result<Shape> ReshapeTarget(const InferContext& context, const std::vector<Dim>& target) {
  const Shape* shape = context.input_shape(0);
  const bool allow_zero = context.attributes().Int("allowzero", 0) != 0;
  Shape made;
  std::vector<bool> copied;
  std::optional<size_t> inferred;
  Dim others = 1;
  for (size_t axis = 0; axis < target.size(); ++axis) {
    Dim dim = target[axis];
    const bool copy = !allow_zero && dim == Dim(0);
    if (copy && shape != nullptr && axis >= shape->size()) {
      return context.Fail(StrCat("the target ", Text(target), " copies axis ", axis, " of ",
                                 Text(*shape), ", which has no such axis"));
    }
    if (copy) dim = shape == nullptr ? context.UnknownDim(0, axis) : (*shape)[axis];
    if (dim == Dim(-1)) {
      if (inferred) return context.Fail(StrCat("the target ", Text(target), " has two -1"));
      inferred = axis;
    } else if (dim.is_number() && dim.number() < 0) {
      return context.Fail(StrCat("the target ", Text(target), " has a negative dimension"));
    } else if (!copy) {
      others = others * dim;
    }
    copied.push_back(copy);
    made.push_back(std::move(dim));
  }
  if (shape == nullptr) {
    if (inferred) made[*inferred] = context.UnknownDim(0, *inferred);
    return made;
  }
  if (inferred) {
    PLIMSOLL_ASSIGN(made[*inferred], InferredDim(context, *shape, copied, others));
  } else if (IsStatic(*shape) && IsStatic(made) && ElementCount(*shape) != ElementCount(made)) {
    return context.Fail(
        StrCat(Text(*shape), " cannot become ", Text(made), ": the numbers of elements differ"));
  }
  return made;
}

Status InferReshape(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  if (const std::vector<Dim>* target = context.input_dims(1)) {
    PLIMSOLL_ASSIGN(Shape made, ReshapeTarget(context, *target));
    context.SetOutput(0, type, std::move(made));
    PassContent(context, 0, 0);
    return {};
  }
  const Shape* length = context.input_shape(1);
  const bool rank_known = length != nullptr && length->size() == 1 && length->front().is_number() &&
                          length->front().number() <= kMaxContentElements;
  if (rank_known) {
    context.SetOutput(0, type, UnknownShape(context, 0, length->front().number()));
  } else {
    context.SetOutputOfUnknownRank(0, type);
  }
  return {};
}

Status InferFlatten(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutput(0, type, UnknownShape(context, 0, 2));
    return {};
  }
  const auto rank = static_cast<int64_t>(shape->size());
  int64_t axis = context.attributes().Int("axis", 1);
  if (axis < -rank || axis > rank) {
    return context.Fail(StrCat("axis ", axis, " is outside ", Text(*shape)));
  }
  if (axis < 0) axis += rank;
  context.SetOutput(0, type, {Product(*shape, 0, axis), Product(*shape, axis, shape->size())});
  PassContent(context, 0, 0);
  return {};
}

Status InferSqueeze(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const AxesArgument argument = ReadAxes(context, 1);
  const Shape* shape = context.input_shape(0);
  const bool unclear = shape == nullptr || (argument.given && !argument.axes) ||
                       (!argument.given && !IsStatic(*shape));
  if (unclear) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  std::vector<bool> dropped(shape->size());
  for (size_t axis = 0; axis < shape->size() && !argument.given; ++axis) {
    dropped[axis] = (*shape)[axis] == Dim(1);
  }
  if (argument.given) {
    PLIMSOLL_ASSIGN(const std::vector<int64_t> axes,
                    DistinctAxes(context, *argument.axes, static_cast<int64_t>(shape->size())));
    for (const int64_t axis : axes) {
      if ((*shape)[axis].is_number() && (*shape)[axis] != Dim(1)) {
        return context.Fail(StrCat("axis ", axis, " of ", Text(*shape), " is not 1"));
      }
      dropped[axis] = true;
    }
  }
  Shape made;
  for (size_t axis = 0; axis < shape->size(); ++axis) {
    if (!dropped[axis]) made.push_back((*shape)[axis]);
  }
  context.SetOutput(0, type, std::move(made));
  PassContent(context, 0, 0);
  return {};
}

Status InferUnsqueeze(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const AxesArgument argument = ReadAxes(context, 1);
  if (!argument.given) return context.Fail("it names no axes");
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr || !argument.axes) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const size_t rank = shape->size() + argument.axes->size();
  PLIMSOLL_ASSIGN(const std::vector<int64_t> axes,
                  DistinctAxes(context, *argument.axes, static_cast<int64_t>(rank)));
  std::vector<bool> added(rank);
  for (const int64_t axis : axes) added[axis] = true;
  Shape made;
  auto next = shape->begin();
  for (size_t axis = 0; axis < rank; ++axis) made.push_back(added[axis] ? Dim(1) : *next++);
  context.SetOutput(0, type, std::move(made));
  PassContent(context, 0, 0);
  return {};
}

Status InferTranspose(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    const auto* order = context.attributes().Ints("perm");
    SetTensor(context, 0, type,
              order == nullptr ? std::optional<Shape>()
                               : UnknownShape(context, 0, static_cast<int64_t>(order->size())));
    return {};
  }
  std::vector<int64_t> order;
  if (const auto* given = context.attributes().Ints("perm")) {
    if (given->size() != shape->size()) {
      return context.Fail(StrCat("perm has ", given->size(), " axes for ", Text(*shape)));
    }
    PLIMSOLL_ASSIGN(order, DistinctAxes(context, *given, static_cast<int64_t>(shape->size())));
  } else {
    for (size_t axis = shape->size(); axis-- > 0;) order.push_back(static_cast<int64_t>(axis));
  }
  Shape made;
  for (const int64_t axis : order) made.push_back((*shape)[axis]);
  context.SetOutput(0, type, made);
  if (const Content* content = KnownContent(context, 0)) {
    const std::vector<int64_t> own = Strides(*shape);
    std::vector<int64_t> strides;
    for (const int64_t axis : order) strides.push_back(own[axis]);
    context.SetContent(0, Pick(*content, StridedPositions(made, strides)));
  }
  return {};
}

// A sequence or an optional passes as it is.
Status InferIdentity(InferContext& context) {
  context.SetOutput(0, context.input_type(0));
  PassContent(context, 0, 0);
  return {};
}

constexpr OperatorFacts kViewByHostInput = {
    .view = View::kWhole, .in_place_inputs = Inputs(0), .host_inputs = Inputs(1)};
constexpr OperatorFacts kView = {.view = View::kWhole, .in_place_inputs = Inputs(0)};
constexpr OperatorFacts kPermutation = {.view = View::kPermutation};

constexpr OperatorRow kLayoutRows[] = {
    {"", "Reshape", 5, kNewest, 2, 2, 1, 1, InferReshape, kViewByHostInput},
    {"", "Flatten", 1, kNewest, 1, 1, 1, 1, InferFlatten, kView},
    {"", "Squeeze", 1, 12, 1, 1, 1, 1, InferSqueeze, kView},
    {"", "Squeeze", 13, kNewest, 1, 2, 1, 1, InferSqueeze, kViewByHostInput},
    {"", "Unsqueeze", 1, 12, 1, 1, 1, 1, InferUnsqueeze, kView},
    {"", "Unsqueeze", 13, kNewest, 2, 2, 1, 1, InferUnsqueeze, kViewByHostInput},
    {"", "Transpose", 1, kNewest, 1, 1, 1, 1, InferTranspose, kPermutation},
    {"", "Identity", 1, kNewest, 1, 1, 1, 1, InferIdentity, kView},
    // From memory of the device to the host's, or back: compile/placement puts it in.
    {"plimsoll", "Transfer", 1, kNewest, 1, 1, 1, 1, InferIdentity},
};

}  // namespace

std::span<const OperatorRow> LayoutRows() { return kLayoutRows; }

}  // namespace plimsoll::graph::operators
