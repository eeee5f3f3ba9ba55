#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/mistakes.h"
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

// Checks a value against a row; a file that it names is read. `where` names key and origin in the
// errors, which have the code config.type, config.value or one of files and list what is legal.
// Nothing where there is a mistake. Linear in the length of the value and of the file.
std::optional<CheckedValue> CheckValue(const Option& option, const SettingValue& given,
                                       std::string_view where, Mistakes& mistakes);
Result<CheckedValue> CheckValue(const Option& option, const SettingValue& given,
                                std::string_view where);

// The value as given, for messages; cut when long. The first puts texts in quotes.
std::string ShownValue(const SettingValue& given);
std::string PlainValue(const SettingValue& given);

}  // namespace plimsoll::config
