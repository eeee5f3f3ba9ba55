// Configuration files, the small files that options name and values that are more than a word, from
// anybody: build/fuzz/config_text_fuzz -max_len=4096
#include <cstdint>
#include <string>
#include <string_view>

#include "config/effective_config.h"
#include "config/files/batch_strategies.h"
#include "config/files/config_file.h"
#include "config/files/map_files.h"
#include "config/files/operator_files.h"
#include "config/files/shape_ranges.h"
#include "config/files/short_texts.h"
#include "plimsoll/base/log.h"

namespace {

using namespace plimsoll;

// What a reader takes it takes again in the form in which it is written.
template <typename Value>
void MustReadBack(const Result<Value>& read, Result<Value> (*again)(std::string_view)) {
  if (read.ok() && *again(config::Text(*read)) != *read) __builtin_trap();
}

// Mistakes of a file name it, and print.
template <typename Read>
void MustSurvive(Read read, std::string_view text) {
  config::Mistakes mistakes;
  read(text, "f", mistakes);
  for (const Error& mistake : mistakes.all()) {
    if (!mistake.where.starts_with("f") || mistake.Text().empty()) __builtin_trap();
  }
}

Result<config::EngineCounts> FourCores(std::string_view text) {
  return config::ParseEngineCounts(text, 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const LogCapture quiet([](LogLevel, std::string_view) {});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"run.json", "run.toml"}) {
    const auto settings = config::ParseConfigText(text, name);
    if (!settings.ok()) continue;
    const auto effective = config::MakeEffectiveConfig(
        *settings, [](std::string_view) { return std::optional<std::string>(); });
    if (effective.ok()) EffectiveConfigJson(*effective);
  }
  MustReadBack(config::ParseShapeRanges(text), config::ParseShapeRanges);
  MustReadBack(config::ParseBatchStrategies(text), config::ParseBatchStrategies);
  MustReadBack(config::ParseSteps(text), config::ParseSteps);
  MustReadBack(FourCores(text), FourCores);
  if (const auto bytes = config::ParseSizeProduct(text); bytes.ok() && *bytes < 0) __builtin_trap();
  MustSurvive(config::ReadOpDebugConfig, text);
  MustSurvive(config::ReadCustomDtypes, text);
  MustSurvive(config::ReadOpPrecision, text);
  MustSurvive(config::ReadOpCacheIni, text);
  MustSurvive(config::ReadFusionSwitches, text);
  MustSurvive(config::ReadMixList, text);
  MustSurvive(config::ReadAoeTuning, text);
  return 0;
}
