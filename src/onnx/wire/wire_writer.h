#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "onnx/wire/source.h"

namespace plimsoll::onnx {

// Makes one protobuf message, field by field.
class WireWriter {
 public:
  void Number(uint32_t field, int64_t number);
  void Bytes(uint32_t field, std::string_view bytes);  // a text or a message
  void Field(ByteSpan field);                          // one of another message, as it is
  const std::string& message() const { return message_; }

 private:
  void Varint(uint64_t value);

  std::string message_;
};

}  // namespace plimsoll::onnx
