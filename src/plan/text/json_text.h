#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/status.h"

namespace plimsoll::plan {

// A value of a JSON text, with the line it stands in for errors. Numbers are whole and of 63 bits:
// nothing in this room has others.
struct JsonValue {
  enum class Kind { kNull, kBool, kNumber, kText, kArray, kObject };

  Kind kind = Kind::kNull;
  int64_t line = 1;
  bool flag = false;
  int64_t number = 0;
  std::string text;
  std::vector<JsonValue> items;    // of an array, or the values of an object
  std::vector<std::string> names;  // of an object's values

  // The value under a name, or null.
  const JsonValue* Find(std::string_view name) const;
};

// Strict: one value and nothing behind it, no name twice in an object, depth and length bounded, so
// that hostile text costs no more than its size. The error names line and reason.
Result<JsonValue> ParseJson(std::string_view text);

// `text` in quotes, with what must be escaped escaped.
std::string JsonString(std::string_view text);

}  // namespace plimsoll::plan
