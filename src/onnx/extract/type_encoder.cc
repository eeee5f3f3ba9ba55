#include "onnx/extract/type_encoder.h"

#include "onnx/wire/schema.h"
#include "onnx/wire/wire_writer.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

std::string EncodeShape(const graph::Shape& shape) {
  WireWriter dims;
  for (const graph::Dim& dim : shape) {
    WireWriter written;
    if (dim.is_number()) {
      written.Number(schema::dimension::kNumber, dim.number());
    } else if (const std::string text = dim.Text(); text.find('?') == std::string::npos) {
      written.Bytes(schema::dimension::kSymbol, text);
    }
    dims.Bytes(schema::shape::kDim, written.message());
  }
  return dims.message();
}

std::string EncodeTensorType(const graph::ValueType& type) {
  WireWriter tensor;
  tensor.Number(schema::tensor_type::kElementType, static_cast<int64_t>(type.data_type));
  if (type.shape) tensor.Bytes(schema::tensor_type::kShape, EncodeShape(*type.shape));
  return tensor.message();
}

}  // namespace

std::string EncodeType(const graph::ValueType& type) {
  WireWriter written;
  WireWriter inner;
  switch (type.kind) {
    case graph::ValueType::Kind::kTensor:
      written.Bytes(schema::type::kTensor, EncodeTensorType(type));
      break;
    case graph::ValueType::Kind::kSparseTensor:
      written.Bytes(schema::type::kSparseTensor, EncodeTensorType(type));
      break;
    case graph::ValueType::Kind::kSequence:
      inner.Bytes(schema::element_type::kElement, EncodeType(*type.element));
      written.Bytes(schema::type::kSequence, inner.message());
      break;
    case graph::ValueType::Kind::kOptional:
      inner.Bytes(schema::element_type::kElement, EncodeType(*type.element));
      written.Bytes(schema::type::kOptional, inner.message());
      break;
    case graph::ValueType::Kind::kMap:
      inner.Number(schema::map_type::kKey, static_cast<int64_t>(type.data_type));
      inner.Bytes(schema::map_type::kValue, EncodeType(*type.element));
      written.Bytes(schema::type::kMap, inner.message());
      break;
    case graph::ValueType::Kind::kUnknown:
      break;
  }
  return written.message();
}

}  // namespace plimsoll::onnx
