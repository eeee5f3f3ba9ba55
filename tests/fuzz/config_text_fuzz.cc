// Configuration files and ranges from anybody: build/fuzz/config_text_fuzz -max_len=4096
#include <cstdint>
#include <string>
#include <string_view>

#include "config/effective_config.h"
#include "config/files/config_file.h"
#include "config/files/shape_ranges.h"
#include "plimsoll/base/log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  static const LogCapture quiet([](LogLevel, std::string_view) {});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"run.json", "run.toml"}) {
    const auto settings = config::ParseConfigText(text, name);
    if (!settings.ok()) continue;
    const auto effective = config::MakeEffectiveConfig(
        *settings, [](std::string_view) { return std::optional<std::string>(); });
    if (effective.ok()) EffectiveConfigJson(*effective);
  }
  const auto ranges = config::ParseShapeRanges(text);
  if (ranges.ok() && *config::ParseShapeRanges(config::Text(*ranges)) != *ranges) __builtin_trap();
  return 0;
}
