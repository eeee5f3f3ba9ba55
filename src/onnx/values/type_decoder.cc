#include "onnx/values/type_decoder.h"

#include <optional>
#include <string>
#include <utility>

#include "onnx/wire/schema.h"
#include "onnx/wire/wire.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using graph::DataType;
using graph::Dim;
using graph::Shape;
using graph::ValueType;

const Dim& UnknownDim() {
  static const Dim unknown = Dim::Symbol("?");
  return unknown;
}

Result<Dim> DecodeDim(const Source& source, ByteSpan message) {
  std::optional<Dim> dim;
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    if (cursor.number() == schema::dimension::kNumber) {
      const int64_t number = cursor.Int();
      dim = number < 0 ? UnknownDim() : Dim(number);
    } else if (cursor.number() == schema::dimension::kSymbol) {
      const std::string_view text = Trim(cursor.Text());
      dim = text.empty() || text.front() == '?' ? UnknownDim() : Dim::Parse(text);
      // A text that is no size is a name for any.
      if (dim->is_number() && dim->number() < 1) dim = UnknownDim();
    }
  }
  PLIMSOLL_TRY(cursor.status());
  return dim.value_or(UnknownDim());
}

Result<Shape> DecodeShape(const Source& source, ByteSpan message) {
  Shape shape;
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    if (cursor.number() != schema::shape::kDim) continue;
    if (shape.size() == kMaxRank) {
      return source.BadFile("onnx.dims", source.At(cursor.place()),
                            StrCat("a shape has more than ", kMaxRank, " dimensions"));
    }
    PLIMSOLL_ASSIGN(Dim dim, DecodeDim(source, cursor.Bytes()));
    shape.push_back(std::move(dim));
  }
  PLIMSOLL_TRY(cursor.status());
  return shape;
}

Result<DataType> DecodeElementType(const Source& source, WireCursor& cursor) {
  const int64_t number = cursor.Int();
  PLIMSOLL_TRY(cursor.status());
  const auto type = graph::DataTypeFromOnnx(number);
  if (type) return *type;
  return source.BadFile("onnx.element_type", source.At(cursor.place()),
                        StrCat("the element type ", number, " is unknown"));
}

Result<ValueType> DecodeTensorType(const Source& source, ByteSpan message, ValueType::Kind kind) {
  ValueType type{kind, DataType::kUndefined, std::nullopt, nullptr};
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    if (cursor.number() == schema::tensor_type::kElementType) {
      PLIMSOLL_ASSIGN(type.data_type, DecodeElementType(source, cursor));
    } else if (cursor.number() == schema::tensor_type::kShape) {
      PLIMSOLL_ASSIGN(type.shape, DecodeShape(source, cursor.Bytes()));
    }
  }
  PLIMSOLL_TRY(cursor.status());
  return type;
}

Result<ValueType> DecodeNested(const Source& source, ByteSpan message, int depth);

// The element of a sequence or an optional; the key and value of a map, which has other numbers.
Result<ValueType> DecodeHolder(const Source& source, ByteSpan message, ValueType::Kind kind,
                               int depth) {
  const bool is_map = kind == ValueType::Kind::kMap;
  ValueType type{kind, DataType::kUndefined, std::nullopt, std::make_shared<const ValueType>()};
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    if (is_map && cursor.number() == schema::map_type::kKey) {
      PLIMSOLL_ASSIGN(type.data_type, DecodeElementType(source, cursor));
    } else if (cursor.number() ==
               (is_map ? uint32_t{schema::map_type::kValue} : schema::element_type::kElement)) {
      PLIMSOLL_ASSIGN(ValueType element, DecodeNested(source, cursor.Bytes(), depth + 1));
      type.element = std::make_shared<const ValueType>(std::move(element));
    }
  }
  PLIMSOLL_TRY(cursor.status());
  return type;
}

Result<ValueType> DecodeNested(const Source& source, ByteSpan message, int depth) {
  if (depth > kMaxTypeNesting) {
    return source.BadFile("onnx.limit", source.At(message.data()),
                          StrCat("a type is nested more than ", kMaxTypeNesting, " deep"));
  }
  ValueType type;
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    switch (cursor.number()) {
      case schema::type::kTensor: {
        PLIMSOLL_ASSIGN(type, DecodeTensorType(source, cursor.Bytes(), ValueType::Kind::kTensor));
        break;
      }
      case schema::type::kSparseTensor: {
        PLIMSOLL_ASSIGN(type,
                        DecodeTensorType(source, cursor.Bytes(), ValueType::Kind::kSparseTensor));
        break;
      }
      case schema::type::kSequence: {
        PLIMSOLL_ASSIGN(type,
                        DecodeHolder(source, cursor.Bytes(), ValueType::Kind::kSequence, depth));
        break;
      }
      case schema::type::kOptional: {
        PLIMSOLL_ASSIGN(type,
                        DecodeHolder(source, cursor.Bytes(), ValueType::Kind::kOptional, depth));
        break;
      }
      case schema::type::kMap: {
        PLIMSOLL_ASSIGN(type, DecodeHolder(source, cursor.Bytes(), ValueType::Kind::kMap, depth));
        break;
      }
      default:
        break;
    }
  }
  PLIMSOLL_TRY(cursor.status());
  return type;
}

}  // namespace

Result<ValueType> DecodeType(const Source& source, ByteSpan message) {
  return DecodeNested(source, message, 0);
}

ValueType WithOwnSymbols(ValueType type, std::string_view name) {
  int axis = 0;
  graph::ForEachDim(type, [&](Dim& dim) {
    if (dim == UnknownDim()) dim = Dim::Symbol(StrCat("?", name, ".", axis));
    ++axis;
  });
  return type;
}

}  // namespace plimsoll::onnx
