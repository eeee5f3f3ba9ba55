#pragma once

#include <string>
#include <vector>

#include "config/effective_config.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

class CommandOptions;

// The arguments by which a command takes options of a session.
struct ConfigArguments {
  std::vector<std::string> settings;  // --set key=value
  std::vector<std::string> files;     // --config
  std::vector<std::string> policies;  // --policy
};

// Adds --set, --config and --policy to a command. `arguments` must outlive the parsing.
void AddConfigArguments(CommandOptions& command, ConfigArguments& arguments);

// What the arguments and the environment amount to. The command line wins over files; errors name
// the argument, or the place in a file.
Result<config::EffectiveConfig> ResolveArguments(const ConfigArguments& arguments);

}  // namespace plimsoll::cli
