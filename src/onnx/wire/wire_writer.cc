#include "onnx/wire/wire_writer.h"

namespace plimsoll::onnx {

void WireWriter::Varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) message_ += static_cast<char>((value & 0x7f) | 0x80);
  message_ += static_cast<char>(value);
}

void WireWriter::Number(uint32_t field, int64_t number) {
  Varint(uint64_t{field} << 3);
  Varint(static_cast<uint64_t>(number));
}

void WireWriter::Bytes(uint32_t field, std::string_view bytes) {
  constexpr uint64_t kBytesType = 2;
  Varint(uint64_t{field} << 3 | kBytesType);
  Varint(bytes.size());
  message_ += bytes;
}

void WireWriter::Field(ByteSpan field) {
  message_.append(reinterpret_cast<const char*>(field.data()), field.size());
}

}  // namespace plimsoll::onnx
