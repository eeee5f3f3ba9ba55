#include "onnx/values/tensor_reader.h"

#include <utility>

#include "onnx/values/tensor_decoder.h"
#include "onnx/wire/external_files.h"
#include "onnx/wire/mapped_file.h"
#include "onnx/wire/schema.h"
#include "onnx/wire/source.h"
#include "onnx/wire/wire.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using Kind = StoredValue::Kind;

Result<StoredValue> Decode(const Source& source, ByteSpan message, Kind kind, int depth,
                           ExternalFiles& files) {
  StoredValue value;
  value.kind = kind;
  if (kind == Kind::kTensor) {
    PLIMSOLL_ASSIGN(value.tensor, DecodeTensor(source, message, files));
    value.name = value.tensor.name;
    return value;
  }
  if (depth > kMaxTypeNesting) {
    return source.BadFile("onnx.limit", source.At(message.data()),
                          StrCat("values are nested more than ", kMaxTypeNesting, " deep"));
  }
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    Kind element = Kind::kTensor;
    switch (cursor.number()) {
      case schema::stored::kName:
        value.name = std::string(cursor.Text());
        continue;
      case schema::stored::kTensor:
        break;
      case schema::stored::kSequence:
        element = Kind::kSequence;
        break;
      case schema::stored::kOptional:
        element = Kind::kOptional;
        break;
      case schema::stored::kSparseTensor:
      case schema::stored::kMap:
        return source.Unsupported("onnx.stored_value", source.At(cursor.place()),
                                  "it holds a map or a sparse tensor");
      default:
        continue;
    }
    PLIMSOLL_ASSIGN(value.elements.emplace_back(),
                    Decode(source, cursor.Bytes(), element, depth + 1, files));
  }
  PLIMSOLL_TRY(cursor.status());
  if (kind == Kind::kOptional && value.elements.size() > 1) {
    return source.BadFile("onnx.stored_value", source.At(message.data()),
                          "an optional holds more than one value");
  }
  return value;
}

}  // namespace

Result<StoredValue> ReadStoredValue(const std::filesystem::path& file,
                                    const graph::ValueType& declared) {
  PLIMSOLL_ASSIGN(const auto mapped, MappedFile::Open(file));
  const Source source{file.string(), "cannot read the stored value", mapped->bytes(), mapped};
  ExternalFiles files(source, file.parent_path());
  switch (declared.kind) {
    case graph::ValueType::Kind::kSequence:
      return Decode(source, source.bytes, Kind::kSequence, 0, files);
    case graph::ValueType::Kind::kOptional:
      return Decode(source, source.bytes, Kind::kOptional, 0, files);
    case graph::ValueType::Kind::kMap:
    case graph::ValueType::Kind::kSparseTensor:
      return source.Unsupported("onnx.stored_value", source.file,
                                StrCat("it is declared as ", Text(declared)));
    default:
      return Decode(source, source.bytes, Kind::kTensor, 0, files);
  }
}

}  // namespace plimsoll::onnx
