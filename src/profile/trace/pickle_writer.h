#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll::profile {

// Plain data as a pickle of protocol 2: numbers, texts, lists and dictionaries. Every BeginList and
// BeginDictionary has its end; in a dictionary a key comes before each value.
class PickleWriter {
 public:
  PickleWriter() : out_("\x80\x02") {}

  void Whole(int64_t number);
  void Text(std::string_view text);  // must be UTF-8
  void BeginList() { out_ += "]("; }
  void EndList() { out_ += 'e'; }
  // Between items of a long list: readers take what was written so far in one piece, and some
  // cannot take a hundred thousand.
  void SplitList() { out_ += "e("; }
  void BeginDictionary() { out_ += "}("; }
  void EndDictionary() { out_ += 'u'; }

  void Entry(std::string_view key, int64_t number) {
    Text(key);
    Whole(number);
  }
  void Entry(std::string_view key, std::string_view text) {
    Text(key);
    Text(text);
  }
  std::string Finish() { return std::move(out_) + "."; }

 private:
  void Bytes(uint64_t number, int count);  // little-endian

  std::string out_;
};

inline void PickleWriter::Bytes(uint64_t number, int count) {
  for (int i = 0; i < count; ++i) out_ += static_cast<char>(number >> (8 * i));
}

inline void PickleWriter::Whole(int64_t number) {
  if (number >= 0 && number < 256) {
    out_ += 'K';
    Bytes(static_cast<uint64_t>(number), 1);
  } else if (number >= INT32_MIN && number <= INT32_MAX) {
    out_ += 'J';
    Bytes(static_cast<uint64_t>(number), 4);
  } else {
    out_ += "\x8a\x08";
    Bytes(static_cast<uint64_t>(number), 8);
  }
}

inline void PickleWriter::Text(std::string_view text) {
  out_ += 'X';
  Bytes(text.size(), 4);
  out_ += text;
}

}  // namespace plimsoll::profile
