#include <algorithm>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

// Tensors put side by side, repeated, or rearranged in blocks.
namespace plimsoll::graph::operators {
namespace {

// Joins the contents of inputs that are all known, block by block along the axis.
std::optional<Content> ConcatContent(const InferContext& context, const Shape& shape, size_t axis) {
  const std::optional<int64_t> count = SmallCount(shape);
  if (!count) return std::nullopt;
  std::vector<Dim> dims;
  std::vector<double> doubles;
  if (*count == 0) return Content{std::move(dims)};
  int64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= shape[i].number();
  for (int64_t block = 0; block < outer; ++block) {
    for (size_t i = 0; i < context.input_count(); ++i) {
      const Content* content = KnownContent(context, i);
      if (content == nullptr) return std::nullopt;
      const int64_t size = static_cast<int64_t>(content->size()) / outer;
      for (int64_t at = block * size; at < (block + 1) * size; ++at) {
        if (content->dims() != nullptr) {
          dims.push_back((*content->dims())[at]);
        } else {
          doubles.push_back((*content->doubles())[at]);
        }
      }
    }
  }
  if (!dims.empty() && !doubles.empty()) return std::nullopt;
  return doubles.empty() ? Content{std::move(dims)} : Content{std::move(doubles)};
}

// Adds one more input to the shape so far. The axis adds up, the others must agree.
Status Append(const InferContext& context, size_t input, size_t axis, Shape& made) {
  const Shape& shape = *context.input_shape(input);
  if (shape.size() != made.size()) {
    return context.Fail(
        StrCat("input ", input, " ", Text(shape), " has another rank than ", Text(made)));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == axis) {
      made[i] = made[i] + shape[i];
      continue;
    }
    if (!MayBeEqual(made[i], shape[i])) {
      return context.Fail(StrCat("input ", input, " ", Text(shape), " and ", Text(made),
                                 " differ on axis ", i, ", which is not joined"));
    }
    made[i] = Clearer(made[i], shape[i]);
  }
  return {};
}

Status InferConcat(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, context.input_count()));
  const Shape* first = nullptr;
  bool all_known = true;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const Shape* shape = context.input_shape(i);
    if (shape == nullptr) all_known = false;
    if (first == nullptr) first = shape;
  }
  if (first == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  if (context.attributes().Find("axis") == nullptr) return context.Fail("it names no axis");
  PLIMSOLL_ASSIGN(const int64_t axis,
                  AxisAttribute(context, 0, static_cast<int64_t>(first->size())));
  Shape made = *first;
  made[axis] = 0;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.input_shape(i) != nullptr) PLIMSOLL_TRY(Append(context, i, axis, made));
  }
  if (!all_known) made[axis] = context.UnknownDim(0, axis);
  context.SetOutput(0, type, made);
  if (std::optional<Content> content = ConcatContent(context, made, axis)) {
    context.SetContent(0, *std::move(content));
  }
  return {};
}

// How long the list in an input is, where it is known and reasonable.
std::optional<int64_t> ListLength(const InferContext& context, size_t input) {
  const Shape* shape = context.input_shape(input);
  if (shape == nullptr || shape->size() != 1) return std::nullopt;
  const std::optional<int64_t> length = shape->front().AsNumber();
  if (!length || *length > kMaxContentElements) return std::nullopt;
  return length;
}

Status InferExpand(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  const std::vector<Dim>* target = context.input_dims(1);
  if (shape != nullptr && target != nullptr) {
    for (const Dim& dim : *target) {
      if (dim.is_number() && dim.number() < 0) {
        return context.Fail(StrCat("the target ", Text(*target), " has a negative dimension"));
      }
    }
    const Shape* const both[] = {shape, target};
    const std::optional<Shape> made = Broadcast(both);
    if (!made) {
      return context.Fail(StrCat(Text(*shape), " does not broadcast to ", Text(*target)));
    }
    context.SetOutput(0, type, *made);
    const Content* content = KnownContent(context, 0);
    if (content != nullptr && SmallCount(*made)) {
      context.SetContent(0, Pick(*content, BroadcastPositions(*shape, *made)));
    }
    return {};
  }
  const std::optional<int64_t> length = ListLength(context, 1);
  if (shape == nullptr || !length) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  Shape made = UnknownShape(context, 0, std::max(*length, static_cast<int64_t>(shape->size())));
  for (size_t i = 0; i < shape->size(); ++i) {
    const Dim& dim = (*shape)[i];
    if (dim.is_number() && dim != Dim(1)) made[made.size() - shape->size() + i] = dim;
  }
  context.SetOutput(0, type, std::move(made));
  return {};
}

Status InferTile(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  const std::vector<Dim>* repeats = context.input_dims(1);
  if (shape == nullptr || repeats == nullptr) {
    const std::optional<int64_t> rank =
        shape == nullptr ? ListLength(context, 1)
                         : std::optional<int64_t>(static_cast<int64_t>(shape->size()));
    SetTensor(context, 0, type,
              rank ? std::optional(UnknownShape(context, 0, *rank)) : std::nullopt);
    return {};
  }
  if (repeats->size() != shape->size()) {
    return context.Fail(
        StrCat("there are ", repeats->size(), " repeats for the shape ", Text(*shape)));
  }
  Shape made;
  for (size_t axis = 0; axis < shape->size(); ++axis) {
    const Dim& times = (*repeats)[axis];
    if (times.is_number() && times.number() < 0) {
      return context.Fail(StrCat("axis ", axis, " is repeated ", times.number(), " times"));
    }
    made.push_back((*shape)[axis] * times);
  }
  context.SetOutput(0, type, made);
  const Content* content = KnownContent(context, 0);
  // A list is what exporters repeat; its elements follow one after the other.
  if (content != nullptr && made.size() == 1 && SmallCount(made)) {
    std::vector<int64_t> positions;
    const auto length = static_cast<int64_t>(content->size());
    for (int64_t i = 0; i < made[0].number(); ++i) positions.push_back(i % length);
    context.SetContent(0, Pick(*content, positions));
  }
  return {};
}

// Both block operators work on [batch, channels, height, width].
Result<int64_t> CheckBlocks(const InferContext& context, const Shape& shape) {
  const int64_t size = context.attributes().Int("blocksize", 0);
  if (size <= 0) return context.Fail(StrCat("blocksize is ", size, ", not a positive number"));
  if (shape.size() != 4) return context.Fail(StrCat(Text(shape), " is not of rank 4"));
  return size;
}

Result<Dim> DivideBy(const InferContext& context, const Dim& dim, int64_t parts) {
  if (std::optional<Dim> even = Dim::ExactDiv(dim, parts)) return *even;
  if (!dim.is_number()) return Dim::FloorDiv(dim, parts);
  return context.Fail(
      StrCat(dim.number(), " of ", Text(*context.input_shape(0)), " is no multiple of ", parts));
}

Status InferDepthToSpace(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutput(0, type, UnknownShape(context, 0, 4));
    return {};
  }
  PLIMSOLL_ASSIGN(const int64_t size, CheckBlocks(context, *shape));
  PLIMSOLL_ASSIGN(Dim channels, DivideBy(context, (*shape)[1], SaturatingMultiply(size, size)));
  context.SetOutput(0, type,
                    {(*shape)[0], std::move(channels), (*shape)[2] * size, (*shape)[3] * size});
  return {};
}

Status InferSpaceToDepth(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutput(0, type, UnknownShape(context, 0, 4));
    return {};
  }
  PLIMSOLL_ASSIGN(const int64_t size, CheckBlocks(context, *shape));
  PLIMSOLL_ASSIGN(Dim height, DivideBy(context, (*shape)[2], size));
  PLIMSOLL_ASSIGN(Dim width, DivideBy(context, (*shape)[3], size));
  context.SetOutput(0, type,
                    {(*shape)[0], (*shape)[1] * SaturatingMultiply(size, size), std::move(height),
                     std::move(width)});
  return {};
}

// ReverseSequence and Trilu move or clear elements inside the last or first two axes.
Status InferInsideMatrix(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (shape != nullptr && shape->size() < 2) {
    return context.Fail(StrCat(Text(*shape), " has fewer than two axes"));
  }
  return InferLikeFirst(context);
}

constexpr OperatorFacts kJoin = {.view = View::kJoin, .grows_over_first_input = true};
constexpr OperatorFacts kRepeat = {.view = View::kWholeIfUnchanged, .host_inputs = Inputs(1)};
constexpr OperatorFacts kTriangle = {.in_place_inputs = Inputs(0), .host_inputs = Inputs(1)};

constexpr OperatorRow kArrangementRows[] = {
    {"", "Concat", 4, kNewest, 1, kAny, 1, 1, InferConcat, kJoin},
    {"", "Expand", 8, kNewest, 2, 2, 1, 1, InferExpand, kRepeat},
    {"", "Tile", 6, kNewest, 2, 2, 1, 1, InferTile, kRepeat},
    {"", "DepthToSpace", 1, kNewest, 1, 1, 1, 1, InferDepthToSpace},
    {"", "SpaceToDepth", 1, kNewest, 1, 1, 1, 1, InferSpaceToDepth},
    {"", "ReverseSequence", 10, kNewest, 2, 2, 1, 1, InferInsideMatrix},
    {"", "Trilu", 14, kNewest, 1, 2, 1, 1, InferInsideMatrix, kTriangle},
};

}  // namespace

std::span<const OperatorRow> ArrangementRows() { return kArrangementRows; }

}  // namespace plimsoll::graph::operators
