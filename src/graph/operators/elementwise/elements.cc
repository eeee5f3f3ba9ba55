#include "graph/operators/elementwise/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/operators/agreement.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

bool Fits(DataType type, const Dim& element) {
  if (type == DataType::kInt64 || !element.is_number()) return true;
  const int64_t number = element.number();
  switch (type) {
    case DataType::kBool:
      return number == 0 || number == 1;
    case DataType::kUint64:
      return number >= 0;
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kUint4:
    case DataType::kUint2:
      return number >= 0 && number < (int64_t{1} << Bits(type));
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt4:
    case DataType::kInt2: {
      const int64_t half = int64_t{1} << (Bits(type) - 1);
      return number >= -half && number < half;
    }
    default:
      return false;
  }
}

double RoundToFloat32(double element) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::isfinite(element) && std::abs(element) > kLargest) {
    return std::copysign(std::numeric_limits<double>::infinity(), element);
  }
  return static_cast<float>(element);
}

}  // namespace

Result<DataType> CommonType(const InferContext& context, size_t first, size_t last) {
  DataType common = DataType::kUndefined;
  size_t from = first;
  for (size_t i = first; i < std::min(last, context.input_count()); ++i) {
    const ValueType& type = context.input_type(i);
    if (type.kind == ValueType::Kind::kUnknown) continue;
    if (!type.is_tensor()) return context.Fail(StrCat("input ", i, " is no tensor: ", Text(type)));
    if (type.data_type == DataType::kUndefined) continue;
    if (common == DataType::kUndefined) {
      common = type.data_type;
      from = i;
    } else if (type.data_type != common) {
      return context.Fail(StrCat("input ", from, " is ", Name(common), " and input ", i, " is ",
                                 Name(type.data_type), "; they must have one type"));
    }
  }
  return common;
}

Result<std::optional<Shape>> BroadcastInputs(const InferContext& context, size_t first,
                                             size_t last) {
  std::vector<const Shape*> shapes;
  for (size_t i = first; i < std::min(last, context.input_count()); ++i) {
    const Shape* shape = context.input_shape(i);
    if (shape == nullptr) return std::optional<Shape>();
    shapes.push_back(shape);
  }
  std::optional<Shape> result = Broadcast(shapes);
  if (!result) {
    std::vector<std::string> texts;
    for (const Shape* shape : shapes) texts.push_back(Text(*shape));
    return context.Fail(StrCat("the shapes ", plimsoll::Join(texts, " and "), " do not broadcast"));
  }
  return result;
}

Status InferLikeFirst(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  SetTensor(context, 0, type, context.input_type(0).shape);
  return {};
}

Result<DataType> TypeAttribute(const InferContext& context, std::string_view name,
                               DataType otherwise) {
  const Attribute* attribute = context.attributes().Find(name);
  if (attribute == nullptr) return otherwise;
  const int64_t* number = std::get_if<int64_t>(attribute);
  if (number == nullptr) return context.Fail(StrCat("attribute ", name, " is no integer"));
  const std::optional<DataType> type = DataTypeFromOnnx(*number);
  if (!type || *type == DataType::kUndefined) {
    return context.Fail(StrCat("attribute ", name, " is ", *number, ", which is no element type"));
  }
  return *type;
}

Result<int64_t> AxisAttribute(const InferContext& context, int64_t otherwise, int64_t rank) {
  const int64_t axis = context.attributes().Int("axis", otherwise);
  const std::optional<int64_t> normal = NormalizeAxis(axis, rank);
  if (!normal) {
    return context.Fail(StrCat("axis ", axis, " is outside a tensor of rank ", rank));
  }
  return *normal;
}

Result<std::vector<int64_t>> DistinctAxes(const InferContext& context,
                                          const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> normal;
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (const int64_t axis : axes) {
    const std::optional<int64_t> place = NormalizeAxis(axis, rank);
    if (!place) return context.Fail(StrCat("axis ", axis, " is outside a tensor of rank ", rank));
    if (seen[*place]) return context.Fail(StrCat("axis ", axis, " is named twice"));
    seen[*place] = true;
    normal.push_back(*place);
  }
  return normal;
}

Shape UnknownShape(const InferContext& context, size_t output, int64_t rank) {
  Shape shape;
  for (int64_t axis = 0; axis < rank; ++axis) shape.push_back(context.UnknownDim(output, axis));
  return shape;
}

bool IsNonNegative(const Dim& dim) { return !dim.is_anonymous() && dim.is_never_negative(); }

std::optional<int64_t> SmallCount(const Shape& shape) {
  const Dim count = ElementCount(shape);
  if (!IsStatic(shape) || count.number() < 0 || count.number() > kMaxContentElements) {
    return std::nullopt;
  }
  return count.number();
}

const Content* KnownContent(const InferContext& context, size_t input) {
  const Content* content = context.input_content(input);
  const Shape* shape = context.input_shape(input);
  if (content == nullptr || shape == nullptr) return nullptr;
  const std::optional<int64_t> count = SmallCount(*shape);
  return count && static_cast<size_t>(*count) == content->size() ? content : nullptr;
}

std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride = SaturatingMultiply(stride, shape[axis].number());
  }
  return strides;
}

std::vector<int64_t> StridedPositions(const Shape& shape, std::span<const int64_t> strides,
                                      int64_t start) {
  const int64_t count = *SmallCount(shape);
  std::vector<int64_t> positions;
  std::vector<int64_t> index(shape.size());
  int64_t position = start;
  for (int64_t i = 0; i < count; ++i) {
    positions.push_back(position);
    for (size_t axis = shape.size(); axis-- > 0;) {
      position += strides[axis];
      if (++index[axis] < shape[axis].number()) break;
      position -= strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return positions;
}

std::vector<int64_t> BroadcastPositions(const Shape& from, const Shape& to) {
  std::vector<int64_t> strides(to.size());
  const std::vector<int64_t> own = Strides(from);
  const size_t shift = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis) {
    strides[axis + shift] = from[axis].number() == 1 ? 0 : own[axis];
  }
  return StridedPositions(to, strides);
}

Content Pick(const Content& content, std::span<const int64_t> positions) {
  return std::visit(
      [&](const auto& list) {
        std::decay_t<decltype(list)> picked;
        for (const int64_t position : positions) picked.push_back(list[position]);
        return Content{std::move(picked)};
      },
      content.elements);
}

void OfferContent(InferContext& context, size_t output, DataType type, Content content) {
  if (static_cast<int64_t>(content.size()) > kMaxContentElements) return;
  if (auto* doubles = std::get_if<std::vector<double>>(&content.elements)) {
    if (type == DataType::kFloat32) {
      for (double& element : *doubles) element = RoundToFloat32(element);
    } else if (type != DataType::kFloat64) {
      return;
    }
  } else {
    for (const Dim& element : *content.dims()) {
      if (!Fits(type, element)) return;
    }
  }
  context.SetContent(output, std::move(content));
}

void PassContent(InferContext& context, size_t input, size_t output) {
  if (const Content* content = KnownContent(context, input)) context.SetContent(output, *content);
}

}  // namespace plimsoll::graph::operators
