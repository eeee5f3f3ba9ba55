#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// Walks the fields of one protobuf message over mapped bytes and gives views, never copies.
//
// Our own rather than protobuf's CodedInputStream, which counts in `int` (no file or tensor beyond
// 2 GiB, no position in one), copies texts and payloads, and answers a broken stream with `false`
// where we owe the reader of an error the byte and the reason.
//
//   WireCursor cursor(source, message);
//   while (cursor.Next()) {
//     if (cursor.number() == schema::node::kName) name = cursor.Text();
//   }
//   PLIMSOLL_TRY(cursor.status());
//
// A broken field, or one read as what it is not, ends the walk: Next gives false, the accessors
// give empty values, status() tells why. Unknown fields are skipped by not reading them.
class WireCursor {
 public:
  WireCursor(const Source& source, ByteSpan message) : source_(source), rest_(message) {}

  bool Next();
  Status status() const { return status_; }

  uint32_t number() const { return number_; }
  const std::byte* place() const { return place_; }          // where the field begins
  ByteSpan field() const { return {place_, rest_.data()}; }  // all of it, number and length too

  int64_t Int();
  float Float();
  ByteSpan Bytes();              // a message, or raw bytes
  std::string_view Text();       // must be UTF-8
  std::string_view Blob();       // a text of any bytes
  ByteSpan Fixed(size_t width);  // the bytes of a number of fixed size, 4 or 8

  // A repeated number, packed or one a field.
  void AppendInts(std::vector<int64_t>& list);
  void AppendFloats(std::vector<double>& list);

  bool is_bytes() const { return type_ == Type::kBytes; }

 private:
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  bool Fail(std::string_view code, std::string why);
  bool Expect(Type type);
  bool Take(size_t count, ByteSpan& bytes);

  const Source& source_;
  ByteSpan rest_;
  Status status_;
  const std::byte* place_ = nullptr;
  uint32_t number_ = 0;
  Type type_ = Type::kVarint;
  uint64_t bits_ = 0;  // of a number
  ByteSpan bytes_;     // of a payload
};

// Takes one variable-length integer off the front; false when it is cut off or longer than 64 bits.
bool TakeVarint(ByteSpan& bytes, uint64_t& value);

bool IsUtf8(std::string_view text);

}  // namespace plimsoll::onnx
