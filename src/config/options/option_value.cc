#include "config/options/option_value.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <set>
#include <thread>

#include "config/files/batch_strategies.h"
#include "config/files/config_entries.h"
#include "config/files/shape_ranges.h"
#include "config/files/short_texts.h"
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

constexpr std::string_view kPathCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./";

int64_t CoreCount() { return std::max<int64_t>(1, std::thread::hardware_concurrency()); }

// Reads one given value as the type of one option. A function a type; each refuses what the type
// does not take.
class ValueChecker {
 public:
  ValueChecker(const Option& option, const SettingValue& given, std::string_view where)
      : option_(option), given_(given), where_(where) {}

  std::optional<CheckedValue> Check(Mistakes& mistakes) const {
    if (option_.type == OptionType::kFile) return CheckFile(mistakes);
    auto checked = CheckPlain();
    if (checked.ok()) return std::move(*checked);
    mistakes.Add(checked.error());
    return {};
  }

 private:
  Result<CheckedValue> CheckPlain() const {
    switch (option_.type) {
      case OptionType::kSwitch:
        return CheckSwitch();
      case OptionType::kNumber:
        return CheckNumber();
      case OptionType::kSize:
        return CheckSize();
      case OptionType::kChoice:
        return CheckChoice();
      case OptionType::kText:
        return CheckText();
      case OptionType::kPath:
        return CheckPath();
      case OptionType::kFolder:
        return CheckFolder();
      case OptionType::kNumberList:
        return CheckNumberList();
      case OptionType::kNameList:
        return CheckNameList();
      case OptionType::kShapeRanges:
        return CheckParsed(ParseShapeRanges);
      case OptionType::kBatchStrategies:
        return CheckParsed(ParseBatchStrategies);
      case OptionType::kEngineCounts:
        return CheckParsed(
            [](std::string_view text) { return ParseEngineCounts(text, CoreCount()); });
      case OptionType::kSteps:
        return CheckParsed(ParseSteps);
      case OptionType::kFile:
      case OptionType::kObject:
        break;
    }
    return WrongType();
  }

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
    const int64_t in_force = option_.in_force ? option_.in_force(*read) : *read;
    return CheckedValue{in_force, StrCat(in_force)};
  }

  Result<CheckedValue> CheckSize() const {
    if (const auto* number = std::get_if<int64_t>(&given_)) {
      if (*number < 0) return NotLegal();
      return CheckedValue{*number, StrCat(*number)};
    }
    const auto* text = std::get_if<std::string>(&given_);
    if (!text) return WrongType();
    const auto size = ParseSizeProduct(*text);
    if (!size.ok()) return NotUnderstood(size.error());
    return CheckedValue{*size, StrCat(*size)};
  }

  // A word; "true" and "false" may be given as truth values, "None" as nothing.
  Result<CheckedValue> CheckChoice() const {
    const auto* text = std::get_if<std::string>(&given_);
    const auto* truth = std::get_if<bool>(&given_);
    if (!text && !truth && !std::holds_alternative<std::monostate>(given_)) return WrongType();
    const std::string word = text ? *text : truth ? StrCat(*truth) : "None";
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

  Result<CheckedValue> CheckPath() const {
    const auto* text = std::get_if<std::string>(&given_);
    if (!text) return WrongType();
    PLIMSOLL_TRY(RefuseOtherCharacters(*text));
    if (text->empty()) return NotLegal();
    return CheckedValue{*text, *text};
  }

  Status RefuseOtherCharacters(const std::string& path) const {
    const size_t at = path.find_first_not_of(kPathCharacters);
    if (at == std::string::npos) return {};
    return Refuse("config.value", StrCat(ShownValue(given_), " holds '", path.substr(at, 1), "'"));
  }

  Result<CheckedValue> CheckFolder() const {
    const auto* text = std::get_if<std::string>(&given_);
    if (!text) return WrongType();
    std::error_code ignored;
    if (HasControlCharacter(*text) || !std::filesystem::is_directory(*text, ignored)) {
      return Refuse("config.value", StrCat(ShownValue(given_), " is no folder"));
    }
    if (access(text->c_str(), R_OK | W_OK | X_OK) != 0) {
      return Refuse("config.value", StrCat(ShownValue(given_), " cannot be read and written"));
    }
    return CheckedValue{*text, *text};
  }

  // Reads the file; its mistakes name the option, the place and what is legal.
  std::optional<CheckedValue> CheckFile(Mistakes& mistakes) const {
    assert(option_.read != nullptr);
    const auto* path = std::get_if<std::string>(&given_);
    if (!path || path->empty() || HasControlCharacter(*path)) {
      mistakes.Add(path ? NotLegal() : WrongType());
      return {};
    }
    if (option_.legal.plain_path) {
      if (const Status plain = RefuseOtherCharacters(*path); !plain.ok()) {
        mistakes.Add(plain);
        return {};
      }
    }
    std::error_code ignored;
    const auto kind = std::filesystem::status(*path, ignored).type();
    if (kind == std::filesystem::file_type::fifo || kind == std::filesystem::file_type::socket ||
        kind == std::filesystem::file_type::character ||
        kind == std::filesystem::file_type::block) {
      mistakes.Add(Refuse("config.file", StrCat(ShownValue(given_), " is no regular file")));
      return {};
    }
    const auto text = ReadSmallFile(*path);
    if (!text.ok()) {
      mistakes.Add(Refuse("config.file", StrCat(ShownValue(given_), ": ", text.error().why)));
      return {};
    }
    Mistakes found;
    OptionValue value = option_.read(*text, *path, found);
    for (Error mistake : found.all()) {
      mistake.where = StrCat(where_, ", ", mistake.where);
      mistake.remedy = StrCat("legal: ", LegalText(option_));
      mistakes.Add(std::move(mistake));
    }
    if (!found.empty()) return {};
    return CheckedValue{std::move(value), *path};
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
      const auto& words = option_.legal.words;
      if (words.empty() || std::ranges::find(words, name) != words.end()) continue;
      return Refuse("config.value", StrCat("'", Cut(name), "' is not legal"));
    }
    std::string text = Join(names, ",");
    return CheckedValue{std::move(names), std::move(text)};
  }

  // A text that `parse` understands, shown in the one form that Text gives it.
  template <typename Parse>
  Result<CheckedValue> CheckParsed(Parse parse) const {
    const auto* text = std::get_if<std::string>(&given_);
    if (!text) return WrongType();
    if (HasControlCharacter(*text)) return NotLegal();
    const auto parsed = parse(*text);
    if (!parsed.ok()) return NotUnderstood(parsed.error());
    return CheckedValue{*parsed, Text(*parsed)};
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
  Error NotUnderstood(const Error& error) const {
    return Refuse("config.value", StrCat(ShownValue(given_), ", ", error.why));
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

std::optional<CheckedValue> CheckValue(const Option& option, const SettingValue& given,
                                       std::string_view where, Mistakes& mistakes) {
  return ValueChecker(option, given, where).Check(mistakes);
}

Result<CheckedValue> CheckValue(const Option& option, const SettingValue& given,
                                std::string_view where) {
  Mistakes mistakes;
  auto checked = CheckValue(option, given, where, mistakes);
  if (!checked) return mistakes.ToStatus();
  return std::move(*checked);
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
