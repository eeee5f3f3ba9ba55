#include "config/options/option_table.h"

#include <algorithm>
#include <map>

#include "config/options/option_rows.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

constexpr size_t kMostShown = 80;

struct Part {
  std::string_view section;
  std::vector<Option> (*rows)();
  bool of_seed = false;  // arguments of the documents, in their order
};

// The sections of the documents in their order, then ours.
constexpr Part kParts[] = {
    {"Basic options", BasicOptions, true},
    {"Memory management", MemoryOptions, true},
    {"Dynamic shapes", DynamicShapeOptions, true},
    {"Mixed computing", MixedComputingOptions, true},
    {"Debugging", DebuggingOptions, true},
    {"Accuracy tuning", AccuracyTuningOptions, true},
    {"Accuracy comparison", AccuracyComparisonOptions, true},
    {"Performance tuning", PerformanceOptions, true},
    {"Profiling", ProfilingOptions, true},
    {"AOE", AoeOptions, true},
    {"Operator compilation", CompilationOptions, true},
    {"Data augmentation", DataAugmentationOptions, true},
    {"Exception remedy", TimeoutOptions, true},
    {"Experiment options: they may change, and are not for production", ExperimentOptions, true},
    {"Deprecated options", DeprecatedOptions, true},
    {"Fields of MemoryConfig", MemoryConfigFields, true},
    {"Fields of DumpConfig", DumpConfigFields, true},
    {"Fields of ProfilingConfig", ProfilingConfigFields, true},
    {"Further arguments", FurtherOptions},
    {"Options of the graph engine", ReuseOptions},
    {"Who places buffers", PlanningOptions},
    {"The environment alone", EnvironmentOptions},
};

std::vector<Option> AllRows() {
  std::vector<Option> rows;
  std::map<OptionGroup, int> counts;
  for (const Part& part : kParts) {
    for (Option& option : part.rows()) {
      option.section = part.section;
      if (part.of_seed) option.seed_index = counts[option.group]++;
      rows.push_back(std::move(option));
    }
  }
  return rows;
}

// "memory_config.static_memory_policy": an option by the object that it is a field of.
const Option* FindField(std::string_view key) {
  const size_t dot = key.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const Option* object = FindOption(key.substr(0, dot));
  if (object == nullptr || object->type != OptionType::kObject) return nullptr;
  if (!object->fields) return object;
  const Option* field = FindOption(key.substr(dot + 1));
  return field != nullptr && field->group == *object->fields ? field : nullptr;
}

}  // namespace

std::span<const Option> OptionTable() {
  static const std::vector<Option> rows = AllRows();
  return rows;
}

const Option* FindOption(std::string_view key) {
  const auto known_as = [key](const Option& option) {
    return option.name == key ||
           std::ranges::find(option.other_keys, key) != option.other_keys.end();
  };
  const auto row = std::ranges::find_if(OptionTable(), known_as);
  return row == OptionTable().end() ? FindField(key) : &*row;
}

Result<const Option*> LookUpOption(std::string_view key, std::string_view origin) {
  if (const Option* option = FindOption(key)) return option;
  std::vector<std::string> keys;
  for (const Option& option : OptionTable()) {
    keys.emplace_back(option.name);
    keys.insert(keys.end(), option.other_keys.begin(), option.other_keys.end());
  }
  const auto nearest = NearestName(key, keys);
  return Error{
      ErrorKind::kUsage,
      "config.unknown",
      "unknown option",
      StrCat("'", key.substr(0, kMostShown), "' (", origin, ")"),
      {},
      nearest ? StrCat("did you mean ", *nearest, "?") : "plimsoll options lists them all"};
}

}  // namespace plimsoll::config
