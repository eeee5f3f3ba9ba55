#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// Reads a configuration file, JSON (.json) or TOML (.toml); with another extension what it holds
// decides. A file is a map of options:
//
//   static_memory_policy = 2            the option by itself,
//   memory_config.atomic_clean_policy = 1    an option of MemoryConfig below that name,
//   [NPURunConfig]                      any of them inside an explicit NPURunConfig, whose own
//   external_weight = true              defaults then hold,
//   [graph]                             or inside global, session or graph, the level for which
//   compile_dynamic_mode = true         they are given.
//
// Only the form of the file is checked here; Resolve checks the options, and names the line and
// column from the settings' origin. What a map of options cannot hold (config.shape) becomes a
// mistake of the settings. Fails with kBadFile and the code config.file (missing, a folder, more
// than 1 MiB), config.syntax, or config.shape where nothing can be read at all.
Result<Settings> ReadConfigFile(const std::string& path);

// The same for text that was read elsewhere; `name` stands for the file and gives the extension.
Result<Settings> ParseConfigText(std::string_view text, const std::string& name);

}  // namespace plimsoll::config
