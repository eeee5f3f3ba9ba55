#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/options/option.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// A value as somebody gave it: nothing (null in JSON), a truth value, numbers, text, a list.
// Command lines and the environment give text, which is read as the option's type.
using SettingValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<std::string>>;

// A value that is legal for its option, with the text by which it is shown.
struct CheckedValue {
  OptionValue value;
  std::string text;
};

// Checks a value against a row. `where` names key and origin in the error, which has the code
// config.type or config.value and lists what is legal. Linear in the length of the value.
Result<CheckedValue> CheckValue(const Option& option, const SettingValue& given,
                                std::string_view where);

// The value as given, for messages; cut when long. The first puts texts in quotes.
std::string ShownValue(const SettingValue& given);
std::string PlainValue(const SettingValue& given);

}  // namespace plimsoll::config
