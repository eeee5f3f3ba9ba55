#include "config/options/option.h"

#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

std::string NumbersText(const LegalValues& legal) {
  if (legal.numbers.empty()) {
    if (legal.most == std::numeric_limits<int64_t>::max()) {
      return StrCat("a whole number from ", legal.least);
    }
    return StrCat("a whole number from ", legal.least, " to ", legal.most);
  }
  std::string text = Join(legal.numbers, ", ");
  for (const auto& [older, meant] : legal.older_forms) {
    text += StrCat(" (and ", older, ", the older form of ", meant, ")");
  }
  return text;
}

}  // namespace

std::string_view GroupName(OptionGroup group) {
  switch (group) {
    case OptionGroup::kNpuRunConfig:
      return "NPURunConfig";
    case OptionGroup::kMemoryConfig:
      return "MemoryConfig";
    case OptionGroup::kGraphEngine:
      return "graph engine";
    case OptionGroup::kEnvironment:
      return "environment";
  }
  return {};
}

std::string_view TypeName(OptionType type) {
  switch (type) {
    case OptionType::kSwitch:
      return "switch";
    case OptionType::kNumber:
      return "whole number";
    case OptionType::kChoice:
      return "word";
    case OptionType::kText:
      return "text";
    case OptionType::kNumberList:
      return "list of numbers";
    case OptionType::kNameList:
      return "list of names";
    case OptionType::kShapeRanges:
      return "shape ranges";
    case OptionType::kBatchStrategies:
      return "batch strategies";
  }
  return {};
}

std::string_view StandingName(Standing standing) {
  switch (standing) {
    case Standing::kActs:
      return "acts";
    case Standing::kNoEffect:
      return "no effect";
    case Standing::kDeprecated:
      return "deprecated";
  }
  return {};
}

std::string LegalText(const Option& option) {
  switch (option.type) {
    case OptionType::kSwitch:
      return "True, False";
    case OptionType::kNumber:
      return NumbersText(option.legal);
    case OptionType::kChoice:
      return Join(option.legal.words, ", ");
    case OptionType::kText:
      return "any text without control characters";
    case OptionType::kNumberList:
      return "whole numbers from 0, split by commas, none twice";
    case OptionType::kNameList:
      return "names split by commas";
    case OptionType::kShapeRanges:
      return "groups as in getnext:[128,3~5,-1],[64,-1];data:[]";
    case OptionType::kBatchStrategies:
      return "LABEL:STRATEGY split by semicolons, as in b0:useRange=1,ascendingSort=1;b1:search";
  }
  return {};
}

}  // namespace plimsoll::config
