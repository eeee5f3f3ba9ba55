#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The parts of RunConfig that are more than one value. Plain data.
namespace plimsoll::config {

// Operators by name and by type, as files list them.
struct OperatorList {
  std::vector<std::string> names;
  std::vector<std::string> types;

  bool Holds(std::string_view name, std::string_view type) const {
    return std::ranges::find(names, name) != names.end() ||
           std::ranges::find(types, type) != types.end();
  }
  bool operator==(const OperatorList&) const = default;
};

// What the file that op_debug_config names switches on.
struct OpDebugConfig {
  bool oom = false;  // checks for writes outside of tensors
  bool dump_bin = false;
  bool dump_cce = false;
  bool dump_loc = false;
  bool ccec_O0 = false;
  bool ccec_g = false;
  bool check_flag = false;
  std::optional<OperatorList> operators;  // op_debug_list; none: all operators
  bool operator==(const OpDebugConfig&) const = default;
};

// Whether writes outside of a tensor are looked for: `oom` of op_debug_config.
struct OomCheck {
  bool enabled = false;
  std::optional<OperatorList> operators;  // none: all
  bool operator==(const OomCheck&) const = default;
};

// enable_exception_dump, or what NPU_COLLECT_PATH makes of it.
struct ExceptionDump {
  enum class Mode { kOff = 0, kCommon = 1, kLite = 2 };
  Mode mode = Mode::kOff;
  // kCommon: where the files go; kLite: the folder that extra-info/data-dump/<device_id> is made
  // in. Empty: the current folder.
  std::string folder;
  bool operator==(const ExceptionDump&) const = default;
};

// export_compile_stat: when fusion_result.json is written.
enum class CompileStat { kNever = 0, kAtExit = 1, kAfterCompilation = 2 };

// One group of the fusion switch file.
struct FusionGroup {
  bool all_off = false;
  std::map<std::string, bool, std::less<>> patterns;  // by name: on or off

  bool IsOn(std::string_view pattern) const {
    const auto found = patterns.find(pattern);
    return found == patterns.end() ? !all_off : found->second;
  }
  bool operator==(const FusionGroup&) const = default;
};

struct FusionSwitches {
  FusionGroup graph_fusion;
  FusionGroup ub_fusion;
  bool operator==(const FusionSwitches&) const = default;
};

// Limits of the disk cache: op_cache.ini, else the variables, else these.
struct CacheLimits {
  int64_t max_mb = 500;       // max_op_cache_size; -1: no ageing
  int64_t remain_ratio = 50;  // percent that stays when space runs short
  // Files age once the cache is larger than max_mb; with the variables, once it is as large.
  bool reached_counts = false;

  bool ages() const { return max_mb != -1; }
  bool operator==(const CacheLimits&) const = default;
};

// The disk cache of compiled graphs, after all that switches it off.
struct CacheSettings {
  enum class Mode { kDisable, kEnable, kForce };
  Mode mode = Mode::kDisable;
  std::string folder;  // kernel_cache is made in it; empty: no cache
  CacheLimits limits;
  std::optional<OperatorList> always_compiled;  // op_debug_list: never taken from the cache
  bool operator==(const CacheSettings&) const = default;
};

// How long work may take. None: no limit.
struct Timeouts {
  std::optional<std::chrono::seconds> op_wait = std::chrono::seconds(120);
  std::optional<std::chrono::seconds> op_execute;
  std::optional<std::chrono::milliseconds> stream_sync;
  std::optional<std::chrono::milliseconds> event_sync;
  std::chrono::seconds hccl = std::chrono::seconds(1836);  // in force, a multiple of 68
  bool operator==(const Timeouts&) const = default;
};

// DumpConfig: tensors that runs write.
struct DumpSettings {
  enum class Mode { kInput, kOutput, kAll };
  enum class Data { kTensor, kStats };
  struct Steps {  // both ends included
    int64_t first = 0;
    int64_t last = 0;
    bool operator==(const Steps&) const = default;
  };

  bool enabled = false;
  std::string path;          // empty: the current folder
  std::vector<Steps> steps;  // empty: every run
  Mode mode = Mode::kOutput;
  Data data = Data::kTensor;
  std::vector<std::string> layers;  // names of nodes; empty: all
  // enable_dump_debug with a dump_debug_mode that covers kernels (all, aicore_overflow): tells the
  // first operator of a run that makes NaN or infinity of finite numbers.
  bool find_overflow = false;

  bool TakesStep(int64_t step) const {
    return steps.empty() || std::ranges::any_of(steps, [step](const Steps& range) {
             return step >= range.first && step <= range.last;
           });
  }
  bool operator==(const DumpSettings&) const = default;
};

// ProfilingConfig: the observer's recorder.
struct ProfilingSettings {
  bool enabled = false;
  std::string options;  // as given
  bool operator==(const ProfilingSettings&) const = default;
};

// aoe_mode, work_path and the file that aoe_config_file names.
struct AoeSettings {
  enum class Mode { kOff = 0, kSubgraph = 1, kOperator = 2, kGradientSplit = 4 };
  Mode mode = Mode::kOff;
  std::string work_path;          // empty: the current folder
  OperatorList operators;         // tuned: the union of names and types; both empty: all
  bool high_performance = false;  // tune_optimization_level O1
  bool deeper_opat = false;
  bool nonhomo_split = false;
  bool operator==(const AoeSettings&) const = default;
};

// precision_mode and precision_mode_v2, whose words mean some of the same modes.
enum class PrecisionMode {
  kAllowFp32ToFp16,
  kForceFp16,            // v2: fp16
  kCubeFp16InFp32Out,    // also force_fp32
  kMustKeepOriginDtype,  // v2: origin
  kAllowMixPrecision     // also allow_mix_precision_fp16; v2: mixed_float16
};

// modify_mixlist: operator types that move between the lists of mixed precision.
struct MixList {
  std::vector<std::string> black_to_remove;  // to the graylist
  std::vector<std::string> black_to_add;
  std::vector<std::string> white_to_remove;  // to the graylist
  std::vector<std::string> white_to_add;
  bool operator==(const MixList&) const = default;
};

// customize_dtypes: types of the operands of single operators.
struct OperatorDtypes {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  bool operator==(const OperatorDtypes&) const = default;
};

struct CustomDtypes {
  std::map<std::string, OperatorDtypes, std::less<>> by_name;
  std::map<std::string, OperatorDtypes, std::less<>> by_type;

  // A line for the name rules over one for the type; null where there is neither.
  const OperatorDtypes* Find(std::string_view name, std::string_view type) const {
    if (const auto found = by_name.find(name); found != by_name.end()) return &found->second;
    const auto found = by_type.find(type);
    return found == by_type.end() ? nullptr : &found->second;
  }
  bool operator==(const CustomDtypes&) const = default;
};

// op_precision_mode: the implementation of single operators.
enum class ImplMode {
  kHighPrecision,
  kHighPerformance,
  kSupportOutOfBoundIndex,
  kKeepFp16,
  kSuperPerformance
};

struct OpPrecision {
  std::map<std::string, ImplMode, std::less<>> by_name;
  std::map<std::string, ImplMode, std::less<>> by_type;

  // A node's own entry rules over its type's.
  std::optional<ImplMode> Find(std::string_view name, std::string_view type) const {
    if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
    const auto found = by_type.find(type);
    return found == by_type.end() ? std::nullopt : std::optional(found->second);
  }
  bool operator==(const OpPrecision&) const = default;
};

struct PrecisionSettings {
  PrecisionMode mode = PrecisionMode::kAllowFp32ToFp16;
  std::optional<MixList> mix_list;
  std::optional<CustomDtypes> custom_dtypes;  // none with kMustKeepOriginDtype, as the file says
  std::optional<OpPrecision> op_precision;    // also what op_select_implmode amounts to
  bool operator==(const PrecisionSettings&) const = default;
};

}  // namespace plimsoll::config
