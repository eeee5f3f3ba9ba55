#include "graph/value_type.h"

namespace plimsoll::graph {

ValueType ValueType::Tensor(DataType type, std::optional<Shape> shape) {
  return {Kind::kTensor, type, std::move(shape), nullptr};
}

ValueType ValueType::Sequence(ValueType element) {
  return {Kind::kSequence, DataType::kUndefined, std::nullopt,
          std::make_shared<const ValueType>(std::move(element))};
}

ValueType ValueType::Optional(ValueType element) {
  return {Kind::kOptional, DataType::kUndefined, std::nullopt,
          std::make_shared<const ValueType>(std::move(element))};
}

ValueType ValueType::Map(DataType key, ValueType value) {
  return {Kind::kMap, key, std::nullopt, std::make_shared<const ValueType>(std::move(value))};
}

bool ValueType::operator==(const ValueType& other) const {
  if (kind != other.kind || data_type != other.data_type || shape != other.shape) return false;
  if (element == nullptr || other.element == nullptr) return element == other.element;
  return *element == *other.element;
}

std::string Text(const ValueType& type) {
  const std::string element = type.element == nullptr ? "?" : Text(*type.element);
  const std::string dims = type.shape ? Text(*type.shape) : "[...]";
  switch (type.kind) {
    case ValueType::Kind::kUnknown:
      return "?";
    case ValueType::Kind::kTensor:
      return std::string(Name(type.data_type)) + dims;
    case ValueType::Kind::kSparseTensor:
      return "sparse(" + std::string(Name(type.data_type)) + dims + ")";
    case ValueType::Kind::kSequence:
      return "seq(" + element + ")";
    case ValueType::Kind::kOptional:
      return "optional(" + element + ")";
    case ValueType::Kind::kMap:
      return "map(" + std::string(Name(type.data_type)) + "," + element + ")";
  }
  return "?";
}

std::optional<Bytes> SizeOf(const ValueType& type) {
  if (!type.is_tensor() || !type.shape || !IsStatic(*type.shape)) return std::nullopt;
  return SizeOf(type.data_type, ElementCount(*type.shape).number());
}

void ForEachDim(ValueType& type, const std::function<void(Dim&)>& visit) {
  if (type.shape) {
    for (Dim& dim : *type.shape) visit(dim);
  }
  if (type.element != nullptr) {
    ValueType element = *type.element;
    ForEachDim(element, visit);
    type.element = std::make_shared<const ValueType>(std::move(element));
  }
}

}  // namespace plimsoll::graph
