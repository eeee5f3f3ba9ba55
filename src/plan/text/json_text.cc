#include "plan/text/json_text.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::plan {
namespace {

constexpr int kDeepest = 16;

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : rest_(text) {}

  Result<JsonValue> Parse() {
    PLIMSOLL_ASSIGN(JsonValue value, ParseValue(0));
    SkipBlanks();
    if (!rest_.empty()) return Bad("something follows the value");
    return value;
  }

 private:
  Error Bad(std::string why) const {
    return {.kind = ErrorKind::kBadFile,
            .code = "plan.bad_json",
            .what = "cannot read the JSON text",
            .where = StrCat("line ", line_),
            .why = std::move(why),
            .remedy = ""};
  }

  void SkipBlanks() {
    while (!rest_.empty() &&
           (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r' || rest_[0] == '\n')) {
      line_ += rest_[0] == '\n';
      rest_.remove_prefix(1);
    }
  }

  bool Take(std::string_view token) {
    SkipBlanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Result<JsonValue> ParseValue(int depth) {
    if (depth > kDeepest) return Bad(StrCat("it is nested deeper than ", kDeepest));
    SkipBlanks();
    JsonValue value;
    value.line = line_;
    if (Take("{")) {
      value.kind = JsonValue::Kind::kObject;
      PLIMSOLL_TRY(ParseObject(depth, value));
    } else if (Take("[")) {
      value.kind = JsonValue::Kind::kArray;
      PLIMSOLL_TRY(ParseArray(depth, value));
    } else if (rest_.starts_with('"')) {
      value.kind = JsonValue::Kind::kText;
      PLIMSOLL_ASSIGN(value.text, ParseString());
    } else if (Take("true")) {
      value.kind = JsonValue::Kind::kBool;
      value.flag = true;
    } else if (Take("false")) {
      value.kind = JsonValue::Kind::kBool;
    } else if (!Take("null")) {
      value.kind = JsonValue::Kind::kNumber;
      PLIMSOLL_ASSIGN(value.number, ParseNumber());
    }
    return value;
  }

  Result<int64_t> ParseNumber() {
    const size_t length = std::min(rest_.find_first_not_of("-+.eE0123456789"), rest_.size());
    const std::string_view digits = rest_.substr(0, length);
    const auto number = ParseInteger(digits);
    if (digits.empty()) return Bad("a value is missing or has a sign that starts none");
    if (!number) return Bad(StrCat("'", digits.substr(0, 40), "' is no whole number of 63 bits"));
    rest_.remove_prefix(length);
    return *number;
  }

  Result<std::string> ParseString() {
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty() && rest_[0] != '"') {
      char sign = rest_[0];
      if (static_cast<unsigned char>(sign) < 0x20) return Bad("a string holds a control character");
      rest_.remove_prefix(1);
      if (sign != '\\') {
        text += sign;
        continue;
      }
      if (rest_.empty()) break;
      static constexpr std::string_view kEscapes = "\"\\/bfnrt";
      static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      const size_t escape = kEscapes.find(rest_[0]);
      if (escape != std::string_view::npos) {
        text += kMeanings[escape];
        rest_.remove_prefix(1);
        continue;
      }
      PLIMSOLL_ASSIGN(sign, ParseControlEscape());
      text += sign;
    }
    if (rest_.empty()) return Bad("a string does not end");
    rest_.remove_prefix(1);
    return text;
  }

  // \u00XX, as JsonString writes control characters.
  Result<char> ParseControlEscape() {
    int code = 0;
    const auto parsed = rest_.size() < 5
                            ? std::from_chars_result{rest_.data(), std::errc()}
                            : std::from_chars(rest_.data() + 1, rest_.data() + 5, code, 16);
    if (rest_[0] != 'u' || parsed.ptr != rest_.data() + 5 || code < 0 || code >= 0x80) {
      return Bad(
          "a string holds an escape other than \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u00XX");
    }
    rest_.remove_prefix(5);
    return static_cast<char>(code);
  }

  Status ParseArray(int depth, JsonValue& array) {
    if (Take("]")) return {};
    for (;;) {
      PLIMSOLL_ASSIGN(JsonValue value, ParseValue(depth + 1));
      array.items.push_back(std::move(value));
      if (Take("]")) return {};
      if (!Take(",")) return Bad("an array lacks ',' or ']'");
    }
  }

  Status ParseObject(int depth, JsonValue& object) {
    std::set<std::string> seen;
    if (Take("}")) return {};
    for (;;) {
      SkipBlanks();
      if (!rest_.starts_with('"')) return Bad("an object lacks a name in quotes");
      PLIMSOLL_ASSIGN(std::string name, ParseString());
      if (!Take(":")) return Bad(StrCat("':' is missing behind '", name.substr(0, 40), "'"));
      if (!seen.insert(name).second) {
        return Bad(StrCat("'", name.substr(0, 40), "' is named twice"));
      }
      PLIMSOLL_ASSIGN(JsonValue value, ParseValue(depth + 1));
      object.names.push_back(std::move(name));
      object.items.push_back(std::move(value));
      if (Take("}")) return {};
      if (!Take(",")) return Bad("an object lacks ',' or '}'");
    }
  }

  std::string_view rest_;
  int64_t line_ = 1;
};

}  // namespace

const JsonValue* JsonValue::Find(std::string_view name) const {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? nullptr : &items[static_cast<size_t>(at - names.begin())];
}

Result<JsonValue> ParseJson(std::string_view text) { return JsonParser(text).Parse(); }

std::string JsonString(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char sign : text) {
    const auto code = static_cast<unsigned char>(sign);
    if (sign == '"' || sign == '\\') {
      out += '\\';
      out += sign;
    } else if (code < 0x20) {
      out += "\\u00";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
    } else {
      out += sign;
    }
  }
  return out + "\"";
}

}  // namespace plimsoll::plan
