#include "onnx/wire/wire.h"

#include <bit>
#include <cstring>

#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

template <typename T>
T Load(ByteSpan bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

bool TakeVarint(ByteSpan& bytes, uint64_t& value) {
  constexpr size_t kLongest = 10;
  value = 0;
  for (size_t i = 0; i < bytes.size() && i < kLongest; ++i) {
    const auto byte = std::to_integer<uint64_t>(bytes[i]);
    value |= (byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      bytes = bytes.subspan(i + 1);
      return true;
    }
  }
  return false;
}

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - i < static_cast<size_t>(more)) return false;
    uint32_t point = lead & (0x3f >> more);
    for (int k = 0; k < more; ++k) {
      const auto byte = static_cast<unsigned char>(text[i++]);
      if ((byte & 0xc0) != 0x80) return false;
      point = point << 6 | (byte & 0x3f);
    }
    constexpr uint32_t kShortest[] = {0, 0x80, 0x800, 0x10000};
    if (point < kShortest[more] || point > 0x10ffff) return false;
    if (point >= 0xd800 && point < 0xe000) return false;
  }
  return true;
}

bool WireCursor::Fail(std::string_view code, std::string why) {
  if (status_.ok()) {
    status_ = source_.BadFile(std::string(code), source_.At(place_), std::move(why),
                              "the file is damaged, or no ONNX file: get it again");
  }
  rest_ = {};
  bits_ = 0;
  bytes_ = {};
  return false;
}

bool WireCursor::Take(size_t count, ByteSpan& bytes) {
  if (count > rest_.size()) {
    return Fail("onnx.truncated", StrCat("field ", number_, " needs ", count, " bytes, but ",
                                         rest_.size(), " remain"));
  }
  bytes = rest_.first(count);
  rest_ = rest_.subspan(count);
  return true;
}

bool WireCursor::Next() {
  if (rest_.empty() || !status_.ok()) return false;
  place_ = rest_.data();
  const auto varint = [&](uint64_t& value) {
    if (TakeVarint(rest_, value)) return true;
    return rest_.size() < 10
               ? Fail("onnx.truncated", "a number is cut off by the end of its message")
               : Fail("onnx.wire", "a number is longer than ten bytes");
  };
  uint64_t tag = 0;
  if (!varint(tag)) return false;
  if (tag >> 3 == 0 || tag >> 32 != 0) {
    return Fail("onnx.wire", StrCat(tag >> 3, " is no field number"));
  }
  number_ = static_cast<uint32_t>(tag >> 3);
  type_ = static_cast<Type>(tag & 7);
  bits_ = 0;
  bytes_ = {};
  switch (type_) {
    case Type::kVarint:
      return varint(bits_);
    case Type::kFixed64:
      if (!Take(8, bytes_)) return false;
      bits_ = Load<uint64_t>(bytes_);
      return true;
    case Type::kFixed32:
      if (!Take(4, bytes_)) return false;
      bits_ = Load<uint32_t>(bytes_);
      return true;
    case Type::kBytes: {
      uint64_t length = 0;
      return varint(length) && Take(length, bytes_);
    }
  }
  return Fail("onnx.wire", StrCat("field ", number_, " has the unknown wire type ", tag & 7));
}

bool WireCursor::Expect(Type type) {
  if (!status_.ok()) return false;
  if (type_ == type) return true;
  return Fail("onnx.wire", StrCat("field ", number_, " has wire type ", static_cast<int>(type_),
                                  " where the schema has ", static_cast<int>(type)));
}

int64_t WireCursor::Int() { return Expect(Type::kVarint) ? static_cast<int64_t>(bits_) : 0; }

float WireCursor::Float() {
  return Expect(Type::kFixed32) ? std::bit_cast<float>(static_cast<uint32_t>(bits_)) : 0.0f;
}

ByteSpan WireCursor::Bytes() { return Expect(Type::kBytes) ? bytes_ : ByteSpan(); }

ByteSpan WireCursor::Fixed(size_t width) {
  return Expect(width == 4 ? Type::kFixed32 : Type::kFixed64) ? bytes_ : ByteSpan();
}

std::string_view WireCursor::Blob() {
  const ByteSpan bytes = Bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view WireCursor::Text() {
  const std::string_view text = Blob();
  if (IsUtf8(text)) return text;
  Fail("onnx.text", StrCat("the text ", Quote(text), " is not valid UTF-8"));
  return {};
}

void WireCursor::AppendInts(std::vector<int64_t>& list) {
  if (type_ != Type::kBytes) {
    if (Expect(Type::kVarint)) list.push_back(Int());
    return;
  }
  ByteSpan packed = bytes_;
  while (!packed.empty()) {
    uint64_t value = 0;
    if (!TakeVarint(packed, value)) {
      Fail("onnx.wire", StrCat("the list of numbers in field ", number_, " is broken"));
      return;
    }
    list.push_back(static_cast<int64_t>(value));
  }
}

void WireCursor::AppendFloats(std::vector<double>& list) {
  if (type_ != Type::kBytes) {
    if (Expect(Type::kFixed32)) list.push_back(Float());
    return;
  }
  if (bytes_.size() % sizeof(float) != 0) {
    Fail("onnx.wire", StrCat("the list of floats in field ", number_, " has ", bytes_.size(),
                             " bytes, which is no multiple of 4"));
    return;
  }
  for (size_t i = 0; i < bytes_.size(); i += sizeof(float)) {
    list.push_back(Load<float>(bytes_.subspan(i)));
  }
}

}  // namespace plimsoll::onnx
