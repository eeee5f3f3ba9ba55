#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/data_type.h"
#include "graph/shape.h"
#include "plimsoll/base/tensor.h"

namespace plimsoll::graph {

// What a value is: a tensor of a type and (where known) a shape, or a sequence, an optional or a
// map of such. A default one is unknown.
struct ValueType {
  using Kind = ValueKind;

  Kind kind = Kind::kUnknown;
  DataType data_type = DataType::kUndefined;  // of a tensor; of a map's keys
  std::optional<Shape> shape;                 // of a tensor; nothing when even its rank is unknown
  std::shared_ptr<const ValueType> element;   // of a sequence, an optional, a map's values

  static ValueType Tensor(DataType type, std::optional<Shape> shape = std::nullopt);
  static ValueType Sequence(ValueType element);
  static ValueType Optional(ValueType element);
  static ValueType Map(DataType key, ValueType value);

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool operator==(const ValueType& other) const;
};

std::string Text(const ValueType& type);  // "float32[1,3]", "seq(int64[?])", "float32[...]"

// Bytes of a tensor whose shape is all numbers; nothing for other values, strings count 0.
std::optional<Bytes> SizeOf(const ValueType& type);

// Calls `visit` on each dimension of the type and of what it holds.
void ForEachDim(ValueType& type, const std::function<void(Dim&)>& visit);

}  // namespace plimsoll::graph
