#include <cmath>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

// Tensors made from little: constants, ranges, and the shape of another tensor.
namespace plimsoll::graph::operators {
namespace {

void SetConstant(InferContext& context, const ConstantTensor& tensor) {
  context.SetOutput(0, tensor.type, ShapeOf(tensor.dims));
  if (std::optional<Content> content = ContentOf(tensor)) {
    context.SetContent(0, *std::move(content));
  }
}

template <typename List>
Shape ListShape(const List& list) {
  return {Dim(static_cast<int64_t>(list.size()))};
}

// The value stands in one of several attributes, by kind.
Status InferConstant(InferContext& context) {
  const Attributes& attributes = context.attributes();
  for (const std::string_view name : {"value", "sparse_value"}) {
    if (const ConstantTensor* tensor = attributes.Tensor(name)) {
      SetConstant(context, *tensor);
      return {};
    }
  }
  if (const auto* integers = attributes.Ints("value_ints")) {
    context.SetOutput(0, DataType::kInt64, ListShape(*integers));
    OfferContent(context, 0, DataType::kInt64,
                 Content{std::vector<Dim>(integers->begin(), integers->end())});
  } else if (const auto* numbers = attributes.Floats("value_floats")) {
    context.SetOutput(0, DataType::kFloat32, ListShape(*numbers));
    OfferContent(context, 0, DataType::kFloat32, Content{*numbers});
  } else if (const auto* strings = attributes.Strings("value_strings")) {
    context.SetOutput(0, DataType::kString, ListShape(*strings));
  } else if (attributes.Find("value_int") != nullptr) {
    context.SetOutput(0, DataType::kInt64, Shape{});
    context.SetContent(0, Content{std::vector<Dim>{attributes.Int("value_int", 0)}});
  } else if (attributes.Find("value_float") != nullptr) {
    context.SetOutput(0, DataType::kFloat32, Shape{});
    OfferContent(context, 0, DataType::kFloat32,
                 Content{std::vector<double>{attributes.Float("value_float", 0)}});
  } else if (attributes.Find("value_string") != nullptr) {
    context.SetOutput(0, DataType::kString, Shape{});
  } else {
    return context.Fail("it carries no value");
  }
  return {};
}

Status InferConstantOfShape(InferContext& context) {
  const ConstantTensor* value = context.attributes().Tensor("value");
  const DataType type = value == nullptr ? DataType::kFloat32 : value->type;
  const std::vector<Dim>* target = context.input_dims(0);
  if (target == nullptr) {
    const Shape* length = context.input_shape(0);
    const bool rank_known = length != nullptr && length->size() == 1 &&
                            length->front().is_number() &&
                            length->front().number() <= kMaxContentElements;
    SetTensor(context, 0, type,
              rank_known ? std::optional(UnknownShape(context, 0, length->front().number()))
                         : std::nullopt);
    return {};
  }
  for (const Dim& dim : *target) {
    if (dim.is_number() && dim.number() < 0) {
      return context.Fail(StrCat("the shape ", Text(*target), " has a negative dimension"));
    }
  }
  context.SetOutput(0, type, *target);
  const std::optional<int64_t> count = SmallCount(*target);
  std::optional<Content> fill = Content{std::vector<double>{0}};
  if (value != nullptr) fill = ContentOf(*value);
  if (count && fill && fill->size() == 1) {
    OfferContent(context, 0, type,
                 Pick(*fill, std::vector<int64_t>(static_cast<size_t>(*count), 0)));
  }
  return {};
}

// How many numbers lie from start up to, not including, limit. Nothing while that is not certain.
Result<std::optional<Dim>> RangeCount(const InferContext& context) {
  const std::optional<Dim> start = ScalarOf(context, 0);
  const std::optional<Dim> limit = ScalarOf(context, 1);
  const std::optional<Dim> step = ScalarOf(context, 2);
  if (step && *step == Dim(0)) return context.Fail("its delta is 0");
  if (start && limit && step && step->is_number()) {
    return std::optional(Dim::Max(Dim::CeilDiv(*limit - *start, *step), 0));
  }
  double numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    const Content* content = KnownContent(context, i);
    if (content == nullptr || content->doubles() == nullptr || content->size() != 1) {
      return std::optional<Dim>();
    }
    numbers[i] = content->doubles()->front();
  }
  constexpr double kMost = 1e15;  // counts beyond are no tensors
  const double count = std::ceil((numbers[1] - numbers[0]) / numbers[2]);
  if (std::isnan(count) || count > kMost) {
    return context.Fail(
        StrCat("from ", numbers[0], " to ", numbers[1], " by ", numbers[2], " is no finite range"));
  }
  return std::optional(Dim(count < 0 ? 0 : static_cast<int64_t>(count)));
}

void RangeContent(InferContext& context, DataType type, int64_t count) {
  const std::optional<Dim> start = ScalarOf(context, 0);
  const std::optional<Dim> step = ScalarOf(context, 2);
  if (!start || !step || count > kMaxContentElements) return;
  std::vector<Dim> made;
  for (int64_t i = 0; i < count; ++i) made.push_back(*start + *step * i);
  OfferContent(context, 0, type, Content{std::move(made)});
}

Status InferRange(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 3));
  PLIMSOLL_ASSIGN(const std::optional<Dim> count, RangeCount(context));
  context.SetOutput(0, type, {count ? *count : context.UnknownDim(0, 0)});
  if (count && count->is_number()) RangeContent(context, type, count->number());
  return {};
}

Status InferEyeLike(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType like, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN(const DataType type, TypeAttribute(context, "dtype", like));
  const Shape* shape = context.input_shape(0);
  if (shape != nullptr && shape->size() != 2) {
    return context.Fail(StrCat(Text(*shape), " is no matrix"));
  }
  context.SetOutput(0, type, shape == nullptr ? UnknownShape(context, 0, 2) : *shape);
  return {};
}

// The depth may be a floating-point number; it is cut to a whole one.
std::optional<Dim> Depth(const InferContext& context) {
  if (const std::optional<Dim> depth = ScalarOf(context, 1)) return depth;
  const std::optional<std::vector<double>> numbers = context.input_doubles(1);
  constexpr double kMost = 1e15;
  if (!numbers || numbers->size() != 1 || !(std::abs(numbers->front()) < kMost)) {
    return std::nullopt;
  }
  return Dim(static_cast<int64_t>(numbers->front()));
}

Status InferOneHot(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 2, 3));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  PLIMSOLL_ASSIGN(const int64_t axis,
                  AxisAttribute(context, -1, static_cast<int64_t>(shape->size()) + 1));
  const std::optional<Dim> depth = Depth(context);
  if (depth && depth->is_number() && depth->number() < 0) {
    return context.Fail(StrCat("the depth is ", depth->number()));
  }
  Shape made = *shape;
  made.insert(made.begin() + axis, depth ? *depth : context.UnknownDim(0, axis));
  context.SetOutput(0, type, std::move(made));
  return {};
}

// Start and end are clamped to the rank, never an error.
int64_t ClampAxis(int64_t axis, int64_t rank) {
  if (axis < 0) axis = SaturatingAdd(axis, rank);
  return std::clamp<int64_t>(axis, 0, rank);
}

Status InferShape(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutput(0, DataType::kInt64, {context.UnknownDim(0, 0)});
    return {};
  }
  const auto rank = static_cast<int64_t>(shape->size());
  const int64_t first = ClampAxis(context.attributes().Int("start", 0), rank);
  const int64_t last = std::max(first, ClampAxis(context.attributes().Int("end", rank), rank));
  std::vector<Dim> dims(shape->begin() + first, shape->begin() + last);
  context.SetOutput(0, DataType::kInt64, ListShape(dims));
  context.SetContent(0, Content{std::move(dims)});
  return {};
}

Status InferSize(InferContext& context) {
  context.SetOutput(0, DataType::kInt64, Shape{});
  if (const Shape* shape = context.input_shape(0)) {
    context.SetContent(0, Content{std::vector<Dim>{ElementCount(*shape)}});
  }
  return {};
}

constexpr OperatorFacts kShapeQuery = {.result_is_shape = true};

constexpr OperatorRow kGeneratorRows[] = {
    {"", "Constant", 1, kNewest, 0, 0, 1, 1, InferConstant},
    {"", "ConstantOfShape", 9, kNewest, 1, 1, 1, 1, InferConstantOfShape, HostInputs(0)},
    {"", "Range", 11, kNewest, 3, 3, 1, 1, InferRange, HostInputs(0, 1, 2)},
    {"", "EyeLike", 9, kNewest, 1, 1, 1, 1, InferEyeLike},
    {"", "OneHot", 9, kNewest, 3, 3, 1, 1, InferOneHot, HostInputs(1)},
    {"", "Shape", 1, kNewest, 1, 1, 1, 1, InferShape, kShapeQuery},
    {"", "Size", 1, kNewest, 1, 1, 1, 1, InferSize, kShapeQuery},
};

}  // namespace

std::span<const OperatorRow> GeneratorRows() { return kGeneratorRows; }

}  // namespace plimsoll::graph::operators
