#include "onnx/values/tensor_decoder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onnx/wire/schema.h"
#include "onnx/wire/wire.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using graph::ConstantTensor;
using graph::DataType;

// A repeated number as the file holds it: one packed list, or a field for each element, or both.
struct Numbers {
  uint32_t field = 0;
  std::vector<ByteSpan> packed;
  std::vector<int64_t> single;  // varints; fixed-size numbers are views in `packed`
};

// A TensorProto as it stands.
struct Parts {
  std::string_view name;
  int64_t type = 0;
  std::vector<int64_t> dims;
  std::optional<ByteSpan> raw;
  Numbers numbers;
  std::vector<std::string_view> strings;
  ExternalFiles::Entries external;
  bool is_external = false;
  bool has_segment = false;
  std::string where;
};

Error BadTensor(const Source& source, const Parts& parts, std::string why) {
  return source.BadFile("onnx.tensor", parts.where, std::move(why));
}

// The field that holds elements of a type when they are not raw; 0 for strings.
uint32_t FieldOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kComplex64:
      return schema::tensor::kFloatData;
    case DataType::kFloat64:
    case DataType::kComplex128:
      return schema::tensor::kDoubleData;
    case DataType::kInt64:
      return schema::tensor::kInt64Data;
    case DataType::kUint32:
    case DataType::kUint64:
      return schema::tensor::kUint64Data;
    case DataType::kString:
      return 0;
    default:
      return schema::tensor::kInt32Data;
  }
}

bool IsNumberField(uint32_t field) {
  return field == schema::tensor::kFloatData || field == schema::tensor::kInt32Data ||
         field == schema::tensor::kInt64Data || field == schema::tensor::kDoubleData ||
         field == schema::tensor::kUint64Data;
}

Status ReadNumbers(const Source& source, WireCursor& cursor, Parts& parts) {
  const uint32_t field = cursor.number();
  if (parts.numbers.field != 0 && parts.numbers.field != field) {
    return BadTensor(source, parts, "its elements are given in two fields at once");
  }
  parts.numbers.field = field;
  if (cursor.is_bytes()) {
    if (!cursor.Bytes().empty()) parts.numbers.packed.push_back(cursor.Bytes());
  } else if (field == schema::tensor::kFloatData) {
    parts.numbers.packed.push_back(cursor.Fixed(4));
  } else if (field == schema::tensor::kDoubleData) {
    parts.numbers.packed.push_back(cursor.Fixed(8));
  } else {
    parts.numbers.single.push_back(cursor.Int());
  }
  return cursor.status();
}

Status ReadExternalEntry(const Source& source, ByteSpan message, Parts& parts) {
  std::string_view key;
  std::string_view value;
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    if (cursor.number() == schema::entry::kKey) key = cursor.Text();
    if (cursor.number() == schema::entry::kValue) value = cursor.Text();
  }
  parts.external.emplace_back(key, value);
  return cursor.status();
}

Result<Parts> ReadParts(const Source& source, ByteSpan message) {
  Parts parts;
  parts.where = source.At(message.data());
  WireCursor cursor(source, message);
  while (cursor.Next()) {
    switch (cursor.number()) {
      case schema::tensor::kName:
        parts.name = cursor.Text();
        break;
      case schema::tensor::kDims:
        cursor.AppendInts(parts.dims);
        break;
      case schema::tensor::kDataType:
        parts.type = cursor.Int();
        break;
      case schema::tensor::kRawData:
        parts.raw = cursor.Bytes();
        break;
      case schema::tensor::kStringData:
        parts.strings.push_back(cursor.Blob());
        break;
      case schema::tensor::kExternalData:
        PLIMSOLL_TRY(ReadExternalEntry(source, cursor.Bytes(), parts));
        break;
      case schema::tensor::kDataLocation:
        parts.is_external = cursor.Int() == schema::tensor::kExternalLocation;
        break;
      case schema::tensor::kSegment:
        parts.has_segment = true;
        break;
      default:
        if (IsNumberField(cursor.number())) PLIMSOLL_TRY(ReadNumbers(source, cursor, parts));
    }
  }
  PLIMSOLL_TRY(cursor.status());
  parts.where += StrCat(", tensor ", Quote(parts.name));
  return parts;
}

// Elements that the file already holds as memory does: a view, or the pieces put together.
void Assemble(const Source& source, const Numbers& numbers, ConstantTensor& tensor) {
  if (numbers.packed.empty()) return;
  if (numbers.packed.size() == 1) {
    tensor.bytes = numbers.packed[0];
    tensor.storage = source.storage;
    return;
  }
  auto owned = std::make_shared<std::vector<std::byte>>();
  for (ByteSpan piece : numbers.packed) owned->insert(owned->end(), piece.begin(), piece.end());
  tensor.bytes = *owned;
  tensor.storage = owned;
}

// Decodes integers into elements of `width` bytes. `count` bounds what is made, so that a long list
// under small dimensions stops early.
Status Decode(const Source& source, const Parts& parts, size_t width, size_t count,
              ConstantTensor& tensor) {
  auto owned = std::make_shared<std::vector<std::byte>>();
  const bool narrow = width < sizeof(int64_t);
  const int64_t highest = narrow ? (int64_t{1} << (8 * width)) - 1 : kSaturated;
  const int64_t lowest =
      narrow ? -(int64_t{1} << (8 * width - 1)) : std::numeric_limits<int64_t>::min();
  const auto append = [&](int64_t number) -> Status {
    if (owned->size() == count * width) {
      return BadTensor(source, parts, StrCat("it has more than the ", count, " numbers it needs"));
    }
    if (number < lowest || number > highest) {
      return BadTensor(source, parts, StrCat("the number ", number, " does not fit its type"));
    }
    const size_t end = owned->size();
    owned->resize(end + width);
    std::memcpy(owned->data() + end, &number, width);
    return {};
  };
  for (ByteSpan piece : parts.numbers.packed) {
    while (!piece.empty()) {
      uint64_t number = 0;
      if (!TakeVarint(piece, number)) return BadTensor(source, parts, "a number in it is broken");
      PLIMSOLL_TRY(append(static_cast<int64_t>(number)));
    }
  }
  for (const int64_t number : parts.numbers.single) PLIMSOLL_TRY(append(number));
  tensor.bytes = *owned;
  tensor.storage = owned;
  return {};
}

Status TakeStrings(const Source& source, Parts& parts, ConstantTensor& tensor) {
  if (parts.raw || parts.is_external) {
    return BadTensor(source, parts, "strings cannot be raw or external data");
  }
  if (static_cast<int64_t>(parts.strings.size()) != tensor.ElementCount()) {
    return BadTensor(source, parts,
                     StrCat("it has ", parts.strings.size(), " strings, but its ",
                            "dimensions need ", tensor.ElementCount()));
  }
  tensor.strings = std::move(parts.strings);
  tensor.storage = source.storage;
  return {};
}

Status TakeElements(const Source& source, Parts& parts, ConstantTensor& tensor) {
  if (parts.raw && parts.numbers.field != 0 &&
      (!parts.numbers.packed.empty() || !parts.numbers.single.empty())) {
    return BadTensor(source, parts, "its elements are given in two fields at once");
  }
  const uint32_t field = FieldOf(tensor.type);
  if (parts.raw) {
    tensor.bytes = *parts.raw;
    tensor.storage = source.storage;
  } else if (parts.numbers.field != 0 && parts.numbers.field != field) {
    return BadTensor(source, parts,
                     StrCat("elements of type ", Name(tensor.type), " cannot lie in field ",
                            parts.numbers.field));
  } else if (field == schema::tensor::kFloatData || field == schema::tensor::kDoubleData) {
    Assemble(source, parts.numbers, tensor);
  } else if (parts.numbers.field != 0) {
    // Sub-byte elements come packed, one number per byte.
    const auto width = static_cast<size_t>(std::max(8, Bits(tensor.type)) / 8);
    const auto size = static_cast<size_t>(tensor.Size().value());
    PLIMSOLL_TRY(Decode(source, parts, width, size / width, tensor));
  }
  if (Bytes(static_cast<int64_t>(tensor.bytes.size())) == tensor.Size()) return {};
  return BadTensor(
      source, parts,
      StrCat("it has ", tensor.bytes.size(), " bytes of data, but ", graph::Name(tensor.type),
             " elements of its dimensions need ", tensor.Size().value()));
}

}  // namespace

Result<ConstantTensor> DecodeTensor(const Source& source, ByteSpan message, ExternalFiles& files) {
  PLIMSOLL_ASSIGN(Parts parts, ReadParts(source, message));
  ConstantTensor tensor;
  tensor.name = std::string(parts.name);
  const auto type = graph::DataTypeFromOnnx(parts.type);
  if (!type || *type == DataType::kUndefined) {
    return source.BadFile("onnx.element_type", parts.where,
                          StrCat("its element type ", parts.type, " is unknown"));
  }
  if (parts.has_segment) {
    return source.Unsupported("onnx.segment", parts.where, "it is stored in segments",
                              "save the model again with a current version of onnx");
  }
  tensor.type = *type;
  tensor.dims = std::move(parts.dims);
  for (const int64_t dim : tensor.dims) {
    if (dim < 0) return source.BadFile("onnx.dims", parts.where, StrCat("dimension ", dim));
  }
  if (tensor.dims.size() > kMaxRank || tensor.ElementCount() == kSaturated ||
      tensor.Size().saturated()) {
    return source.BadFile(
        "onnx.dims", parts.where,
        StrCat("its ", tensor.dims.size(), " dimensions make more elements than can be counted"));
  }
  if (tensor.type == DataType::kString) {
    PLIMSOLL_TRY(TakeStrings(source, parts, tensor));
  } else if (parts.is_external) {
    PLIMSOLL_ASSIGN(auto slice, files.Find(parts.external, tensor.Size(), parts.where));
    tensor.bytes = slice.bytes;
    tensor.storage = std::move(slice.storage);
    tensor.missing = slice.missing;
    tensor.external_file = std::move(slice.file);
    tensor.external_offset = slice.offset;
  } else {
    PLIMSOLL_TRY(TakeElements(source, parts, tensor));
  }
  return tensor;
}

}  // namespace plimsoll::onnx
