#include "graph/operators/agreement.h"

#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {

bool MayBeEqual(const Dim& a, const Dim& b) {
  return !a.is_number() || !b.is_number() || a.number() == b.number();
}

const Dim& Clearer(const Dim& a, const Dim& b) {
  if (a.is_number()) return a;
  if (b.is_number()) return b;
  return a.is_anonymous() ? b : a;
}

std::optional<Dim> DimOf(const InferContext& context, size_t input, size_t axis) {
  const Shape* shape = context.input_shape(input);
  if (shape == nullptr || axis >= shape->size()) return std::nullopt;
  return (*shape)[axis];
}

std::optional<Dim> ScalarOf(const InferContext& context, size_t input) {
  const std::vector<Dim>* dims = context.input_dims(input);
  if (dims == nullptr || dims->size() != 1) return std::nullopt;
  return dims->front();
}

DataType TypeOf(const InferContext& context, std::initializer_list<size_t> inputs) {
  for (size_t input : inputs) {
    if (context.input_data_type(input) != DataType::kUndefined) {
      return context.input_data_type(input);
    }
  }
  return DataType::kUndefined;
}

Status CheckPresent(const InferContext& context, std::initializer_list<size_t> inputs) {
  for (const size_t input : inputs) {
    if (!context.has_input(input)) {
      return context.Fail(StrCat("its input ", input, " is left out, but is not optional"));
    }
  }
  return {};
}

Status CheckTensor(const InferContext& context, size_t input) {
  const ValueType& type = context.input_type(input);
  if (type.kind == ValueType::Kind::kUnknown || type.is_tensor()) return {};
  return context.Fail(StrCat("input ", input, " must be a tensor, but is ", Text(type)));
}

Status CheckRank(const InferContext& context, size_t input, size_t rank) {
  PLIMSOLL_TRY(CheckTensor(context, input));
  const Shape* shape = context.input_shape(input);
  if (shape == nullptr || shape->size() == rank) return {};
  return context.Fail(
      StrCat("input ", input, " must have ", rank, " dimensions, but is ", Text(*shape)));
}

Status CheckRankAtLeast(const InferContext& context, size_t input, size_t rank) {
  PLIMSOLL_TRY(CheckTensor(context, input));
  const Shape* shape = context.input_shape(input);
  if (shape == nullptr || shape->size() >= rank) return {};
  return context.Fail(
      StrCat("input ", input, " must have at least ", rank, " dimensions, but is ", Text(*shape)));
}

Status CheckSameType(const InferContext& context, std::initializer_list<size_t> inputs) {
  std::optional<size_t> first;
  for (size_t input : inputs) {
    const DataType type = context.input_data_type(input);
    if (type == DataType::kUndefined) continue;
    if (!first) first = input;
    const DataType expected = context.input_data_type(*first);
    if (type != expected) {
      return context.Fail(StrCat("inputs ", *first, " and ", input,
                                 " must have the same type, but are ", Name(expected), " and ",
                                 Name(type)));
    }
  }
  return {};
}

Status CheckEqual(const InferContext& context, std::string_view what, const Dim& a, const Dim& b) {
  if (MayBeEqual(a, b)) return {};
  return context.Fail(StrCat(what, " differ: ", a.Text(), " and ", b.Text()));
}

Status CheckVector(const InferContext& context, size_t input, const Dim& length) {
  PLIMSOLL_TRY(CheckRank(context, input, 1));
  const std::optional<Dim> have = DimOf(context, input, 0);
  if (!have || MayBeEqual(*have, length)) return {};
  return context.Fail(
      StrCat("input ", input, " must have ", length.Text(), " elements, but has ", have->Text()));
}

void CopyType(InferContext& context, size_t output, size_t input) {
  context.SetOutput(output, context.input_type(input));
}

void SetTensor(InferContext& context, size_t output, DataType type,
               const std::optional<Shape>& shape) {
  context.SetOutput(output, ValueType::Tensor(type, shape));
}

namespace {

std::optional<Shape> JoinShapes(const std::optional<Shape>& a, const std::optional<Shape>& b,
                                const UnknownAxis& unknown) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Shape joined;
  for (size_t axis = 0; axis < a->size(); ++axis) {
    joined.push_back((*a)[axis] == (*b)[axis] ? (*a)[axis] : unknown(axis));
  }
  return joined;
}

}  // namespace

std::optional<ValueType> Join(const ValueType& a, const ValueType& b, const UnknownAxis& unknown) {
  if (a.kind == ValueType::Kind::kUnknown)
    return b.is_tensor() ? ValueType::Tensor(b.data_type) : b;
  if (b.kind == ValueType::Kind::kUnknown) return Join(b, a, unknown);
  if (a.kind != b.kind) return std::nullopt;
  if (a.data_type != b.data_type && a.data_type != DataType::kUndefined &&
      b.data_type != DataType::kUndefined) {
    return std::nullopt;
  }
  ValueType joined = a;
  if (joined.data_type == DataType::kUndefined) joined.data_type = b.data_type;
  joined.shape = JoinShapes(a.shape, b.shape, unknown);
  if (a.element == nullptr || b.element == nullptr) {
    joined.element = a.element != nullptr ? a.element : b.element;
    return joined;
  }
  std::optional<ValueType> element = Join(*a.element, *b.element, unknown);
  if (!element) return std::nullopt;
  joined.element = std::make_shared<const ValueType>(*std::move(element));
  return joined;
}

ValueType Renewed(const ValueType& type, const UnknownAxis& unknown) {
  ValueType renewed = type;
  if (renewed.shape) {
    for (size_t axis = 0; axis < renewed.shape->size(); ++axis) {
      Dim& dim = (*renewed.shape)[axis];
      if (dim.is_anonymous()) dim = unknown(axis);
    }
  }
  if (type.element != nullptr) {
    renewed.element = std::make_shared<const ValueType>(Renewed(*type.element, unknown));
  }
  return renewed;
}

}  // namespace plimsoll::graph::operators
