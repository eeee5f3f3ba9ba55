#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/run_config.h"

namespace plimsoll::config {

// Where an option is written: an argument of NPURunConfig, one of MemoryConfig, an option of the
// graph engine (ge.*), or the environment alone.
enum class OptionGroup { kNpuRunConfig, kMemoryConfig, kGraphEngine, kEnvironment };

enum class OptionType {
  kSwitch,          // True or False
  kNumber,          // a whole number
  kChoice,          // one of a few words, spelt exactly so
  kText,            // any text
  kNumberList,      // whole numbers from 0, split by commas, none twice
  kNameList,        // names, split by commas
  kShapeRanges,     // see shape_ranges.h
  kBatchStrategies  // see batch_strategies.h
};

// What an option becomes once checked: bool, number, word or text, numbers, names, ranges,
// strategies, in the order of OptionType.
using OptionValue = std::variant<bool, int64_t, std::string, std::vector<int64_t>,
                                 std::vector<std::string>, ShapeRanges, BatchStrategies>;

struct LegalValues {
  std::vector<int64_t> numbers = {};  // of kNumber; empty: the range
  int64_t least = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
  std::vector<std::string_view> words = {};  // of kChoice
  std::vector<std::pair<int64_t, int64_t>> older_forms =
      {};  // a number still taken, and its meaning
};

// A variable that stands for an option. Unset and empty are the same.
struct EnvironmentVariable {
  std::string_view name;
  // Set together with the option: refused, neither side wins. Otherwise the option wins.
  bool excludes_option = false;
  std::string_view deprecation = {};  // printed once when it is used; empty: not deprecated
};

// Two options that do not go together.
struct Conflict {
  std::string_view other;
  bool (*holds)(const RunConfig& config);
  std::string_view why;
  std::string_view remedy;
};

// The value of another option without which this one does nothing. Setting it all the same is no
// error: it is checked, not applied, and a note says so.
struct Condition {
  std::string_view other;
  std::string_view value;
};

enum class Standing { kActs, kNoEffect, kDeprecated };

// One row of the option table: everything that Plimsoll knows of an option. Plain data, never
// changed after start.
struct Option {
  std::string_view name;
  std::vector<std::string_view> other_keys = {};  // further names of the same option
  OptionGroup group = OptionGroup::kNpuRunConfig;
  OptionType type = OptionType::kSwitch;
  std::string_view default_value = {};           // empty: not set
  std::string_view npu_run_config_default = {};  // where it differs inside an explicit NPURunConfig
  LegalValues legal = {};
  std::optional<EnvironmentVariable> environment = {};
  std::vector<Conflict> conflicts = {};
  std::optional<Condition> condition = {};
  Standing standing = Standing::kActs;
  std::string_view standing_reason = {};  // why it has no effect, or what replaces it
  std::string_view meaning = {};          // the help: first sentence short
  // Null for an option that acts through others alone: as their condition, or with one legal value.
  void (*apply)(const OptionValue& value, RunConfig& config) = nullptr;
};

std::string_view GroupName(OptionGroup group);
std::string_view TypeName(OptionType type);
std::string_view StandingName(Standing standing);

// "0, 2, 3, 4 (and 1, the older form of 2)", "a whole number from 1 to 2147483647".
std::string LegalText(const Option& option);

}  // namespace plimsoll::config
