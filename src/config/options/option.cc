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
    case OptionGroup::kDumpConfig:
      return "DumpConfig";
    case OptionGroup::kProfilingConfig:
      return "ProfilingConfig";
    case OptionGroup::kGraphEngine:
      return "graph engine";
    case OptionGroup::kEnvironment:
      return "environment";
  }
  return {};
}

std::string_view LevelName(OptionLevel level) {
  switch (level) {
    case OptionLevel::kGlobal:
      return "global";
    case OptionLevel::kSession:
      return "session";
    case OptionLevel::kGraph:
      return "graph";
  }
  return {};
}

std::string_view TypeName(OptionType type) {
  switch (type) {
    case OptionType::kSwitch:
      return "switch";
    case OptionType::kNumber:
      return "whole number";
    case OptionType::kSize:
      return "size";
    case OptionType::kChoice:
      return "word";
    case OptionType::kText:
      return "text";
    case OptionType::kPath:
      return "path";
    case OptionType::kFolder:
      return "folder";
    case OptionType::kFile:
      return "file";
    case OptionType::kNumberList:
      return "list of numbers";
    case OptionType::kNameList:
      return "list of names";
    case OptionType::kShapeRanges:
      return "shape ranges";
    case OptionType::kBatchStrategies:
      return "batch strategies";
    case OptionType::kEngineCounts:
      return "engines and numbers";
    case OptionType::kSteps:
      return "list of steps";
    case OptionType::kObject:
      return "object";
  }
  return {};
}

std::string StandingText(const Option& option) {
  const std::string deprecated =
      option.deprecated.empty() ? "" : StrCat("deprecated: ", option.deprecated);
  std::string text;
  switch (option.standing.kind) {
    case Standing::Kind::kActs:
      return deprecated.empty() ? "acts" : deprecated;
    case Standing::Kind::kNoEffect:
      text = StrCat("no effect on this device: ", option.standing.reason);
      break;
    case Standing::Kind::kNotSupported:
      text = StrCat("not supported: ", option.standing.reason);
      break;
  }
  return StrCat(deprecated, deprecated.empty() ? "" : "; ", text);
}

std::string LegalText(const Option& option) {
  if (!option.legal_text.empty()) return std::string(option.legal_text);
  switch (option.type) {
    case OptionType::kSwitch:
      return "True, False";
    case OptionType::kNumber:
      return NumbersText(option.legal);
    case OptionType::kSize:
      return "bytes, a whole number or a product such as 26*1024*1024*1024";
    case OptionType::kChoice:
      return Join(option.legal.words, ", ");
    case OptionType::kText:
      return "any text without control characters";
    case OptionType::kPath:
      return "a path of letters, digits, _, -, . and /";
    case OptionType::kFolder:
      return "a folder that exists and can be read and written";
    case OptionType::kFile:
      return "the path of a file";
    case OptionType::kNumberList:
      return "whole numbers from 0, split by commas, none twice";
    case OptionType::kNameList:
      return option.legal.words.empty()
                 ? "names split by commas"
                 : StrCat(Join(option.legal.words, ", "), ", split by commas");
    case OptionType::kShapeRanges:
      return "groups as in getnext:[128,3~5,-1],[64,-1];data:[]";
    case OptionType::kBatchStrategies:
      return "LABEL:STRATEGY split by semicolons, as in b0:useRange=1,ascendingSort=1;b1:search";
    case OptionType::kEngineCounts:
      return "ENGINE:NUMBER split by commas, engines DNN_VM_AICPU and AIcoreEngine, numbers from "
             "1, "
             "that of AIcoreEngine up to the count of cores";
    case OptionType::kSteps:
      return "steps and ranges of steps split by |, as in 0|5-10";
    case OptionType::kObject:
      return "an object, given by its fields";
  }
  return {};
}

}  // namespace plimsoll::config
