#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/effective_config.h"
#include "config/settings.h"

// What the tests of this room share: an environment made of a map, and settings as on a command
// line.
namespace plimsoll::config {

using Variables = std::map<std::string, std::string, std::less<>>;

inline Environment EnvironmentOf(Variables variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

// Resolves `texts` ("key=value") as --set would.
inline Result<EffectiveConfig> ResolveTexts(const std::vector<std::string>& texts,
                                            const Variables& variables = {}) {
  Settings settings;
  for (const std::string& text : texts) {
    PLIMSOLL_TRY(settings.AddText(text, {Origin::Layer::kCommandLine, "--set"}));
  }
  return MakeEffectiveConfig(settings, EnvironmentOf(variables));
}

// The error's line, or "accepted".
inline std::string Outcome(const Result<EffectiveConfig>& resolved) {
  return resolved.ok() ? "accepted" : resolved.error().Text();
}

}  // namespace plimsoll::config
