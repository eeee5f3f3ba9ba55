#include "config/derived_settings.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "config/files/config_entries.h"
#include "config/files/operator_files.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace {

// "kernel_cache_007f0101"
std::string HostFolder() {
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%08lx",
                static_cast<unsigned long>(gethostid()) & 0xffffffff);
  return StrCat("kernel_cache_", digits);
}

// Where the cache lies: the option, else below ASCEND_CACHE_PATH, else below the home folder where
// somebody asked for a cache; empty: nowhere.
std::string CacheFolder(const Environment& environment, bool npu_run_config,
                        const EffectiveConfig& effective) {
  if (effective.Given("op_compiler_cache_dir")) {
    return std::string(effective.Value("op_compiler_cache_dir"));
  }
  if (effective.Given("ASCEND_CACHE_PATH")) {
    return StrCat(effective.Value("ASCEND_CACHE_PATH"), "/", HostFolder());
  }
  if (!npu_run_config && !effective.Given("op_compiler_cache_mode")) return {};
  const std::optional<std::string> home = environment("HOME");
  return home && !home->empty() ? StrCat(*home, "/atc_data") : "";
}

// What op_cache.ini in the folder says; nothing where there is none, or a warning where it is
// wrong.
std::optional<CacheLimits> LimitsOfFile(const std::string& folder) {
  const std::string path = StrCat(folder, "/op_cache.ini");
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  Mistakes mistakes;
  CacheLimits limits;
  if (const auto text = ReadSmallFile(path); text.ok()) {
    limits = ReadOpCacheIni(*text, path, mistakes);
  } else {
    mistakes.Add(text.error());
  }
  if (mistakes.empty()) return limits;
  Log(LogLevel::kWarning, StrCat("op_cache.ini does not count: ", mistakes.all().front().where,
                                 ": ", mistakes.all().front().why));
  return {};
}

CacheLimits LimitsOfVariables(const EffectiveConfig& effective) {
  CacheLimits limits;
  limits.reached_counts = effective.Given("ASCEND_MAX_OP_CACHE_SIZE");
  if (const auto size = ParseInteger(effective.Value("ASCEND_MAX_OP_CACHE_SIZE"))) {
    limits.max_mb = *size;
  }
  if (const auto ratio = ParseInteger(effective.Value("ASCEND_REMAIN_CACHE_SIZE_RATIO"))) {
    limits.remain_ratio = *ratio;
  }
  return limits;
}

void DeriveCache(const Environment& environment, bool npu_run_config, EffectiveConfig& effective) {
  CacheSettings& cache = effective.config.cache;
  const bool debugs_all = effective.Given("op_debug_config") && !cache.always_compiled;
  if (cache.mode == CacheSettings::Mode::kDisable || DebugsOperators(effective) || debugs_all) {
    cache = {};
    return;
  }
  cache.folder = CacheFolder(environment, npu_run_config, effective);
  if (cache.folder.empty()) {
    cache = {};
    return;
  }
  cache.limits = LimitsOfFile(cache.folder).value_or(LimitsOfVariables(effective));
}

void DeriveDumps(EffectiveConfig& effective) {
  RunConfig& config = effective.config;
  if (effective.Given("NPU_COLLECT_PATH")) {
    config.exception_dump = {ExceptionDump::Mode::kCommon,
                             std::string(effective.Value("NPU_COLLECT_PATH"))};
  } else if (config.exception_dump.mode == ExceptionDump::Mode::kLite) {
    config.exception_dump.folder = config.work_path;
  }
  if (config.debug_dir.empty()) config.debug_dir = config.work_path;
}

void DerivePrecision(const EffectiveConfig& effective, PrecisionSettings& precision) {
  if (precision.mode == PrecisionMode::kMustKeepOriginDtype) precision.custom_dtypes.reset();
  if (precision.mode != PrecisionMode::kAllowMixPrecision) precision.mix_list.reset();
  if (precision.op_precision || !effective.Given("op_select_implmode")) return;
  const ImplMode mode = effective.Value("op_select_implmode") == "high_precision"
                            ? ImplMode::kHighPrecision
                            : ImplMode::kHighPerformance;
  precision.op_precision.emplace();
  for (const std::string_view type : Split(effective.Value("optypelist_for_implmode"), ',')) {
    if (!type.empty()) precision.op_precision->by_type.emplace(type, mode);
  }
}

}  // namespace

bool DebugsOperators(const EffectiveConfig& effective) {
  return effective.Given("op_debug_level") && effective.Value("op_debug_level") != "0";
}

void DeriveSettings(const Environment& environment, bool npu_run_config,
                    EffectiveConfig& effective) {
  DeriveCache(environment, npu_run_config, effective);
  DeriveDumps(effective);
  DerivePrecision(effective, effective.config.precision);
}

}  // namespace plimsoll::config
