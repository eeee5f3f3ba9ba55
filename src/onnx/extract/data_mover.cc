#include "onnx/extract/data_mover.h"

#include <array>
#include <optional>

#include "onnx/values/tensor_decoder.h"
#include "onnx/wire/schema.h"
#include "onnx/wire/wire.h"
#include "onnx/wire/wire_writer.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

constexpr int64_t kAlignment = 64;
constexpr std::array<std::byte, kAlignment> kPadding{};

std::string EncodeEntry(std::string_view key, std::string_view value) {
  WireWriter entry;
  entry.Bytes(schema::entry::kKey, key);
  entry.Bytes(schema::entry::kValue, value);
  return entry.message();
}

}  // namespace

void DataMover::Append(ByteSpan bytes) {
  if (bytes.empty()) return;
  data_.push_back(bytes);
  size_ += static_cast<int64_t>(bytes.size());
}

Result<std::string> DataMover::Tensor(ByteSpan message) {
  WireWriter written;
  bool external = false;
  std::optional<ByteSpan> held;
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    if (cursor.number() == schema::tensor::kDataLocation) {
      external |= cursor.Int() == schema::tensor::kExternalLocation;
    } else if (cursor.number() == schema::tensor::kRawData) {
      held = cursor.field();
    } else if (cursor.number() != schema::tensor::kExternalData) {
      written.Field(cursor.field());
    }
  }
  PLIMSOLL_TRY(cursor.status());
  if (!external && (!held || held->size() < least_held_)) {
    if (held) written.Field(*held);
    return written.message();
  }
  PLIMSOLL_ASSIGN(const graph::ConstantTensor tensor, DecodeTensor(source_, message, files_));
  if (tensor.missing) {
    return source_.BadFile("onnx.external_missing", source_.At(Quote(tensor.name)),
                           "the file with its data is missing", "put it next to the model");
  }
  const int64_t gap = (kAlignment - size_ % kAlignment) % kAlignment;
  Append(ByteSpan(kPadding).first(static_cast<size_t>(gap)));
  written.Number(schema::tensor::kDataLocation, schema::tensor::kExternalLocation);
  written.Bytes(schema::tensor::kExternalData, EncodeEntry("location", name_));
  written.Bytes(schema::tensor::kExternalData, EncodeEntry("offset", StrCat(size_)));
  written.Bytes(schema::tensor::kExternalData, EncodeEntry("length", StrCat(tensor.bytes.size())));
  moved_.push_back({size_, tensor.bytes});
  Append(tensor.bytes);
  return written.message();
}

Result<std::string> DataMover::Model(ByteSpan message) {
  WireWriter written;
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    if (cursor.number() != schema::model::kGraph) {
      written.Field(cursor.field());
      continue;
    }
    PLIMSOLL_ASSIGN(const std::string graph, Graph(cursor.Bytes(), 0));
    written.Bytes(cursor.number(), graph);
  }
  PLIMSOLL_TRY(cursor.status());
  return written.message();
}

Result<std::string> DataMover::Node(ByteSpan message) { return Node(message, 0); }

Result<std::string> DataMover::Node(ByteSpan message, int depth) {
  WireWriter written;
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    if (cursor.number() != schema::node::kAttribute) {
      written.Field(cursor.field());
      continue;
    }
    PLIMSOLL_ASSIGN(const std::string attribute, Attribute(cursor.Bytes(), depth));
    written.Bytes(cursor.number(), attribute);
  }
  PLIMSOLL_TRY(cursor.status());
  return written.message();
}

Result<std::string> DataMover::Attribute(ByteSpan message, int depth) {
  WireWriter written;
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    const uint32_t field = cursor.number();
    if (field == schema::attribute::kTensor || field == schema::attribute::kTensors) {
      PLIMSOLL_ASSIGN(const std::string tensor, Tensor(cursor.Bytes()));
      written.Bytes(field, tensor);
    } else if (field == schema::attribute::kGraph || field == schema::attribute::kGraphs) {
      PLIMSOLL_ASSIGN(const std::string graph, Graph(cursor.Bytes(), depth + 1));
      written.Bytes(field, graph);
    } else {
      written.Field(cursor.field());
    }
  }
  PLIMSOLL_TRY(cursor.status());
  return written.message();
}

Result<std::string> DataMover::Graph(ByteSpan message, int depth) {
  if (depth > kMaxNesting) {
    return source_.BadFile("onnx.limit", source_.At(message.data()),
                           StrCat("bodies are nested more than ", kMaxNesting, " deep"));
  }
  WireWriter written;
  WireCursor cursor(source_, message);
  while (cursor.Next()) {
    const uint32_t field = cursor.number();
    if (field == schema::graph::kNode) {
      PLIMSOLL_ASSIGN(const std::string node, Node(cursor.Bytes(), depth));
      written.Bytes(field, node);
    } else if (field == schema::graph::kInitializer) {
      PLIMSOLL_ASSIGN(const std::string tensor, Tensor(cursor.Bytes()));
      written.Bytes(field, tensor);
    } else {
      written.Field(cursor.field());
    }
  }
  PLIMSOLL_TRY(cursor.status());
  return written.message();
}

}  // namespace plimsoll::onnx
