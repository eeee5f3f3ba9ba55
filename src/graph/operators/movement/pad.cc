#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Tensors made larger or smaller at their borders.
namespace plimsoll::graph::operators {
namespace {

// `pads` holds a number for the front of each axis, then one for the back of each.
Status PadAxes(InferContext& context, DataType type, const std::vector<Dim>& pads,
               const std::vector<int64_t>& axes) {
  const Shape& shape = *context.input_shape(0);
  if (pads.size() != 2 * axes.size()) {
    return context.Fail(StrCat("there are ", pads.size(), " pads for ", axes.size(), " axes of ",
                               Text(shape), "; each axis has two"));
  }
  Shape made = shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = made[axes[i]];
    dim = dim + pads[i] + pads[axes.size() + i];
    if (dim.is_number() && dim.number() < 0) {
      return context.Fail(StrCat("the pads ", Text(pads), " take more from axis ", axes[i], " of ",
                                 Text(shape), " than it has"));
    }
  }
  context.SetOutput(0, type, std::move(made));
  return {};
}

std::vector<int64_t> AllAxes(const Shape& shape) {
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < shape.size(); ++axis) axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

Status InferPadByAttribute(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const auto* pads = context.attributes().Ints("pads");
  if (pads == nullptr) return context.Fail("attribute pads is missing");
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutput(0, type, UnknownShape(context, 0, static_cast<int64_t>(pads->size() / 2)));
    return {};
  }
  return PadAxes(context, type, ShapeOf(*pads), AllAxes(*shape));
}

Status InferPad(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const auto rank = static_cast<int64_t>(shape->size());
  std::optional<std::vector<int64_t>> axes = AllAxes(*shape);
  if (context.has_input(3)) axes = context.input_integers(3);
  if (axes) {
    PLIMSOLL_ASSIGN(axes, DistinctAxes(context, *axes, rank));
  }
  const std::vector<Dim>* pads = context.input_dims(1);
  if (axes && pads != nullptr) return PadAxes(context, type, *pads, *axes);
  Shape made = axes ? *shape : UnknownShape(context, 0, rank);
  if (axes) {
    for (const int64_t axis : *axes) made[axis] = context.UnknownDim(0, axis);
  }
  context.SetOutput(0, type, std::move(made));
  return {};
}

Status InferCenterCropPad(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  std::vector<int64_t> axes = AllAxes(*shape);
  if (const auto* given = context.attributes().Ints("axes")) {
    PLIMSOLL_ASSIGN(axes, DistinctAxes(context, *given, static_cast<int64_t>(shape->size())));
  }
  const std::vector<Dim>* target = context.input_dims(1);
  if (target != nullptr && target->size() != axes.size()) {
    return context.Fail(StrCat("the target ", Text(*target), " has another length than the ",
                               axes.size(), " axes"));
  }
  Shape made = *shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    made[axes[i]] = target == nullptr ? context.UnknownDim(0, axes[i]) : (*target)[i];
    if (made[axes[i]].is_number() && made[axes[i]].number() < 0) {
      return context.Fail(StrCat("the target ", Text(*target), " has a negative dimension"));
    }
  }
  context.SetOutput(0, type, std::move(made));
  return {};
}

constexpr OperatorRow kPadRows[] = {
    {"", "Pad", 2, 10, 1, 1, 1, 1, InferPadByAttribute},
    {"", "Pad", 11, 17, 2, 3, 1, 1, InferPad, HostInputs(1)},
    {"", "Pad", 18, kNewest, 2, 4, 1, 1, InferPad, HostInputs(1, 3)},
    {"", "CenterCropPad", 18, kNewest, 2, 2, 1, 1, InferCenterCropPad, HostInputs(1)},
};

}  // namespace

std::span<const OperatorRow> PadRows() { return kPadRows; }

}  // namespace plimsoll::graph::operators
