#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model_reader.h"
#include "onnx/wire/schema.h"
#include "onnx/wire/source.h"

// Writes protobuf messages by hand, so that tests can make models that no library would write.
namespace plimsoll::onnx {

class Message {
 public:
  Message& Int(uint32_t field, int64_t value) {
    Varint(field << 3);
    Varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& Float(uint32_t field, float value) {
    Varint(field << 3 | 5);
    return Raw(std::string_view(reinterpret_cast<const char*>(&value), sizeof(value)));
  }
  Message& Text(uint32_t field, std::string_view text) {
    Varint(field << 3 | 2);
    Varint(text.size());
    return Raw(text);
  }
  Message& Put(uint32_t field, const Message& message) { return Text(field, message.bytes_); }
  Message& Packed(uint32_t field, std::initializer_list<int64_t> values) {
    Message list;
    for (const int64_t value : values) list.Varint(static_cast<uint64_t>(value));
    return Put(field, list);
  }
  template <typename T>
  Message& PackedRaw(uint32_t field, const std::vector<T>& values) {
    return Text(field, std::string_view(reinterpret_cast<const char*>(values.data()),
                                        values.size() * sizeof(T)));
  }
  Message& Raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  ByteSpan span() const { return std::as_bytes(std::span(bytes_)); }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

using Names = std::initializer_list<std::string_view>;

inline Message NodeMessage(std::string_view op, Names inputs, Names outputs,
                           std::string_view name = "", std::string_view domain = "") {
  Message node;
  for (const std::string_view input : inputs) node.Text(schema::node::kInput, input);
  for (const std::string_view output : outputs) node.Text(schema::node::kOutput, output);
  node.Text(schema::node::kName, name).Text(schema::node::kOperator, op);
  return node.Text(schema::node::kDomain, domain);
}

inline Message IntAttribute(std::string_view name, int64_t value) {
  return Message()
      .Text(schema::attribute::kName, name)
      .Int(schema::attribute::kInt, value)
      .Int(schema::attribute::kKind, schema::attribute::kIntKind);
}

inline Message GraphAttribute(std::string_view name, const Message& graph) {
  return Message()
      .Text(schema::attribute::kName, name)
      .Put(schema::attribute::kGraph, graph)
      .Int(schema::attribute::kKind, schema::attribute::kGraphKind);
}

inline Message ReferenceAttribute(std::string_view name, std::string_view reference) {
  return Message()
      .Text(schema::attribute::kName, name)
      .Text(schema::attribute::kReference, reference)
      .Int(schema::attribute::kKind, schema::attribute::kIntKind);
}

inline Message Entry(std::string_view key, std::string_view value) {
  return Message().Text(schema::entry::kKey, key).Text(schema::entry::kValue, value);
}

// A tensor's type; "?" is a dimension without a name, digits are a number.
inline Message TensorType(graph::DataType type, Names dims) {
  Message shape;
  for (const std::string_view dim : dims) {
    Message dimension;
    if (!dim.empty() && dim.find_first_not_of("0123456789") == std::string_view::npos) {
      dimension.Int(schema::dimension::kNumber, std::stoll(std::string(dim)));
    } else if (dim != "?") {
      dimension.Text(schema::dimension::kSymbol, dim);
    }
    shape.Put(schema::shape::kDim, dimension);
  }
  return Message().Put(schema::type::kTensor,
                       Message()
                           .Int(schema::tensor_type::kElementType, static_cast<int>(type))
                           .Put(schema::tensor_type::kShape, shape));
}

inline Message ValueInfo(std::string_view name, const Message& type = Message()) {
  return Message().Text(schema::value_info::kName, name).Put(schema::value_info::kType, type);
}

inline Message FloatTensor(std::string_view name, const std::vector<float>& elements) {
  return Message()
      .Text(schema::tensor::kName, name)
      .Int(schema::tensor::kDims, static_cast<int64_t>(elements.size()))
      .Int(schema::tensor::kDataType, static_cast<int>(graph::DataType::kFloat32))
      .PackedRaw(schema::tensor::kRawData, elements);
}

inline Message Opset(std::string_view domain, int64_t version) {
  return Message().Text(schema::opset::kDomain, domain).Int(schema::opset::kVersion, version);
}

// A graph of nodes with input x and output y.
inline Message GraphOf(const std::vector<Message>& nodes) {
  Message graph;
  graph.Text(schema::graph::kName, "g");
  for (const Message& node : nodes) graph.Put(schema::graph::kNode, node);
  graph.Put(schema::graph::kInput,
            ValueInfo("x", TensorType(graph::DataType::kFloat32, {"n", "3"})));
  return graph.Put(schema::graph::kOutput, ValueInfo("y"));
}

inline Message ModelOf(const Message& graph, int64_t ir_version = 8, int64_t opset = 17) {
  return Message()
      .Int(schema::model::kIrVersion, ir_version)
      .Put(schema::model::kGraph, graph)
      .Put(schema::model::kOpsetImport, Opset("", opset));
}

inline Result<graph::Graph> ReadMessage(const Message& model) {
  const auto kept = std::make_shared<const Message>(model);
  return ReadModelBytes(kept->span(), kept, "");
}

}  // namespace plimsoll::onnx
