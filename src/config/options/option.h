#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/mistakes.h"
#include "config/run_config.h"

namespace plimsoll::config {

struct EffectiveConfig;

// Where an option is written: an argument of NPURunConfig or of one of the objects that it takes,
// an option of the graph engine (ge.*), or the environment alone.
enum class OptionGroup {
  kNpuRunConfig,
  kMemoryConfig,
  kDumpConfig,
  kProfilingConfig,
  kGraphEngine,
  kEnvironment
};

// The narrowest scope for which an option can be given; it can be given for the wider ones too.
enum class OptionLevel { kGlobal, kSession, kGraph };

enum class OptionType {
  kSwitch,           // True or False
  kNumber,           // a whole number
  kSize,             // bytes: a whole number or a product of some
  kChoice,           // one of a few words, spelt exactly so
  kText,             // any text
  kPath,             // letters, digits, _ - . and /
  kFolder,           // a folder that exists and can be read and written
  kFile,             // a file that is read when the option is checked
  kNumberList,       // whole numbers from 0, split by commas, none twice
  kNameList,         // names, split by commas
  kShapeRanges,      // see files/shape_ranges.h
  kBatchStrategies,  // see files/batch_strategies.h
  kEngineCounts,     // see files/short_texts.h
  kSteps,            // see files/short_texts.h
  kObject            // given by the options that belong to it, or by any name below it
};

// Operators that engines run at once, by the name of the engine.
using EngineCounts = std::map<std::string, int64_t>;

// What an option becomes once checked.
using OptionValue =
    std::variant<bool, int64_t, std::string, std::vector<int64_t>, std::vector<std::string>,
                 ShapeRanges, BatchStrategies, EngineCounts, std::vector<DumpSettings::Steps>,
                 FusionSwitches, OpDebugConfig, MixList, CustomDtypes, OpPrecision, AoeSettings>;

struct LegalValues {
  std::vector<int64_t> numbers = {};  // of kNumber; empty: the range
  int64_t least = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
  std::vector<std::string_view> words = {};  // of kChoice and kNameList; empty: any name
  bool plain_path = false;                   // of kFile: only what kPath allows
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
  bool (*holds)(const EffectiveConfig& in_force);
  std::string_view why;
  std::string_view remedy;
};

// Something that a user should know of a combination that is no mistake. Said once in a process.
struct Advice {
  bool (*holds)(const EffectiveConfig& in_force);
  std::string_view text;
  bool without_effect = false;  // the option was given and does nothing; `text` says why
};

// The value of another option without which this one does nothing. Setting it all the same is no
// error: it is checked, not applied, and a note says so.
struct Condition {
  std::string_view other;
  std::string_view value;
};

// Whether an option does something here, and if not, why.
struct Standing {
  enum class Kind { kActs, kNoEffect, kNotSupported };
  Kind kind = Kind::kActs;
  std::string_view reason = {};
  bool acts() const { return kind == Kind::kActs; }
};
constexpr Standing NoEffect(std::string_view reason) { return {Standing::Kind::kNoEffect, reason}; }
constexpr Standing NotSupported(std::string_view reason) {
  return {Standing::Kind::kNotSupported, reason};
}

// One row of the option table: everything that Plimsoll knows of an option. Plain data, never
// changed after start.
struct Option {
  std::string_view name;
  std::vector<std::string_view> other_keys = {};  // further names of the same option
  OptionGroup group = OptionGroup::kNpuRunConfig;
  OptionLevel level = OptionLevel::kSession;
  OptionType type = OptionType::kSwitch;
  std::string_view default_value = {};           // empty: not set
  std::string_view npu_run_config_default = {};  // where it differs inside an explicit NPURunConfig
  LegalValues legal = {};
  std::string_view legal_text = {};  // where the type does not say it all, as for files
  std::optional<EnvironmentVariable> environment = {};
  std::vector<Conflict> conflicts = {};
  std::vector<Advice> advice = {};
  std::optional<Condition> condition = {};
  Standing standing = {};
  std::string_view deprecated = {};  // what replaces it; empty: not deprecated
  std::string_view since = "0.1";
  std::string_view meaning = {};  // the help: first sentence short
  // Of kObject: the group of the options that are its fields; none: any field.
  std::optional<OptionGroup> fields = {};
  // Of kFile: what the text of a file called `name` says.
  OptionValue (*read)(std::string_view text, const std::string& name, Mistakes& mistakes) = nullptr;
  // Of kNumber: what is in force where that is not the number given.
  int64_t (*in_force)(int64_t given) = nullptr;
  // Null for an option that acts through others alone, or not at all.
  void (*apply)(const OptionValue& value, RunConfig& config) = nullptr;
  std::string_view section = {};  // of the documents; filled in by the table
  // Place among the arguments of its group in the documents, from 0; -1: not from there. Filled in
  // by the table.
  int seed_index = -1;
};

std::string_view GroupName(OptionGroup group);
std::string_view LevelName(OptionLevel level);
std::string_view TypeName(OptionType type);

// "acts", "no effect on this device: ...", "deprecated: ...; not supported: ...".
std::string StandingText(const Option& option);

// "0, 2, 3, 4 (and 1, the older form of 2)", "a whole number from 1 to 2147483647".
std::string LegalText(const Option& option);

}  // namespace plimsoll::config
