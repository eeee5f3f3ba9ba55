#include "config/options/option_value.h"

#include <algorithm>
#include <set>

#include "config/files/batch_strategies.h"
#include "config/files/shape_ranges.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr size_t kOptionValueMostShown = 80;

std::string Cut(std::string_view text) {
  return StrCat(text.substr(0, kOptionValueMostShown),
                text.size() > kOptionValueMostShown ? "..." : "");
}

bool IsWholeNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool HasControlCharacter(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Reads one given value as the type of one option. A function a type; each refuses what the type
// does not take.
class ValueChecker {
 public:
  ValueChecker(const Option& option, const SettingValue& given, std::string_view where)
      : option_(option), given_(given), where_(where) {}

  Result<CheckedValue> Check() const {
    switch (option_.type) {
      case OptionType::kSwitch:
        return CheckSwitch();
      case OptionType::kNumber:
        return CheckNumber();
      case OptionType::kChoice:
        return CheckChoice();
      case OptionType::kText:
        return CheckText();
      case OptionType::kNumberList:
        return CheckNumberList();
      case OptionType::kNameList:
        return CheckNameList();
      case OptionType::kShapeRanges:
        return CheckShapeRanges();
      case OptionType::kBatchStrategies:
        return CheckBatchStrategies();
    }
    return WrongType();
  }

 private:
  Result<CheckedValue> CheckSwitch() const {
    const auto* truth = std::get_if<bool>(&given_);
    const auto* text = std::get_if<std::string>(&given_);
    const bool on = truth ? *truth : text && (*text == "True" || *text == "true");
    const bool off = truth ? !*truth : text && (*text == "False" || *text == "false");
    if (!on && !off) return text ? NotLegal() : WrongType();
    return CheckedValue{on, on ? "True" : "False"};
  }

  Result<CheckedValue> CheckNumber() const {
    const auto* text = std::get_if<std::string>(&given_);
    const auto* number = std::get_if<int64_t>(&given_);
    if (!number && !(text && IsWholeNumber(*text))) return WrongType();
    const std::optional<int64_t> read = number ? *number : ParseInteger(*text);
    if (!read || (text && StrCat(*read) != *text)) return NotLegal();
    const LegalValues& legal = option_.legal;
    for (const auto& [older, meant] : legal.older_forms) {
      if (*read == older) return CheckedValue{meant, StrCat(meant)};
    }
    const bool fits = legal.numbers.empty()
                          ? *read >= legal.least && *read <= legal.most
                          : std::ranges::find(legal.numbers, *read) != legal.numbers.end();
    if (!fits) return NotLegal();
    return CheckedValue{*read, StrCat(*read)};
  }

  Result<CheckedValue> CheckChoice() const {
    const auto* text = std::get_if<std::string>(&given_);
    if (!text && !std::holds_alternative<std::monostate>(given_)) return WrongType();
    const std::string word = text ? *text : "None";
    const auto& words = option_.legal.words;
    if (std::ranges::find(words, word) == words.end()) return text ? NotLegal() : WrongType();
    return CheckedValue{word, word};
  }

  Result<CheckedValue> CheckText() const {
    const auto* text = std::get_if<std::string>(&given_);
    if (!text) return WrongType();
    if (HasControlCharacter(*text)) return NotLegal();
    return CheckedValue{*text, *text};
  }

  Result<CheckedValue> CheckNumberList() const {
    PLIMSOLL_ASSIGN(const std::vector<std::string> parts, Parts());
    std::vector<int64_t> numbers;
    std::set<int64_t> seen;
    for (const std::string& part : parts) {
      const auto number = ParseInteger(part);
      const bool fits = number && *number >= 0 && *number <= std::numeric_limits<int>::max();
      if (!fits || StrCat(*number) != part || !seen.insert(*number).second) return NotLegal();
      numbers.push_back(*number);
    }
    std::string text = Join(numbers, ",");
    return CheckedValue{std::move(numbers), std::move(text)};
  }

  Result<CheckedValue> CheckNameList() const {
    PLIMSOLL_ASSIGN(std::vector<std::string> names, Parts());
    for (const std::string& name : names) {
      if (name.empty() || HasControlCharacter(name)) return NotLegal();
    }
    std::string text = Join(names, ",");
    return CheckedValue{std::move(names), std::move(text)};
  }

  Result<CheckedValue> CheckShapeRanges() const {
    const auto* text = std::get_if<std::string>(&given_);
    if (!text) return WrongType();
    const auto ranges = ParseShapeRanges(*text);
    if (!ranges.ok()) {
      return Refuse("config.value", StrCat(ShownValue(given_), ", ", ranges.error().why));
    }
    return CheckedValue{*ranges, Text(*ranges)};
  }

  Result<CheckedValue> CheckBatchStrategies() const {
    const auto* text = std::get_if<std::string>(&given_);
    if (!text) return WrongType();
    if (HasControlCharacter(*text)) return NotLegal();
    const auto strategies = ParseBatchStrategies(*text);
    if (!strategies.ok()) {
      return Refuse("config.value", StrCat(ShownValue(given_), ", ", strategies.error().why));
    }
    return CheckedValue{*strategies, Text(*strategies)};
  }

  // A list as it is, or text split at commas with blanks around them dropped; no text is no part.
  Result<std::vector<std::string>> Parts() const {
    if (const auto* list = std::get_if<std::vector<std::string>>(&given_)) return *list;
    const auto* text = std::get_if<std::string>(&given_);
    if (!text) return WrongType();
    std::vector<std::string> parts;
    if (text->empty()) return parts;
    for (const std::string_view part : Split(*text, ',')) parts.emplace_back(Trim(part));
    return parts;
  }

  Error NotLegal() const {
    return Refuse("config.value", StrCat(ShownValue(given_), " is not legal"));
  }
  Error WrongType() const {
    return Refuse("config.type", StrCat(ShownValue(given_), " is no ", TypeName(option_.type)));
  }
  Error Refuse(std::string code, std::string why) const {
    return {ErrorKind::kUsage,   std::move(code), "option refused",
            std::string(where_), std::move(why),  StrCat("legal: ", LegalText(option_))};
  }

  const Option& option_;
  const SettingValue& given_;
  const std::string_view where_;
};

}  // namespace

Result<CheckedValue> CheckValue(const Option& option, const SettingValue& given,
                                std::string_view where) {
  return ValueChecker(option, given, where).Check();
}

std::string ShownValue(const SettingValue& given) {
  const bool quoted = std::holds_alternative<std::string>(given) ||
                      std::holds_alternative<std::vector<std::string>>(given);
  return quoted ? StrCat("'", PlainValue(given), "'") : PlainValue(given);
}

std::string PlainValue(const SettingValue& given) {
  struct Show {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool truth) const { return StrCat(truth); }
    std::string operator()(int64_t number) const { return StrCat(number); }
    std::string operator()(double number) const { return StrCat(number); }
    std::string operator()(const std::string& text) const { return Cut(text); }
    std::string operator()(const std::vector<std::string>& list) const {
      return Cut(Join(list, ","));
    }
  };
  return std::visit(Show(), given);
}

}  // namespace plimsoll::config
