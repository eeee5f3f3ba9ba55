#pragma once

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "config/effective_config.h"
#include "plimsoll/base/status.h"

namespace plimsoll::cli {

class CommandOptions;

// The arguments by which a command takes options of a session.
struct ConfigArguments {
  // An argument of its own for one option.
  struct Short {
    std::string argument;
    std::string option;
    std::vector<std::string> values;
  };
  std::vector<std::string> settings;  // --set key=value
  std::vector<std::string> files;     // --config
  std::list<Short> shorts;            // --policy, and what AddShort added
  bool trains = false;                // the command means graph_run_mode=1 where nobody gives it
};

inline constexpr const char* kPinThreadsHelp =
    "Bind each thread to a processor of its own; for machines that run nothing else";
inline constexpr const char* kDeviceHelp =
    "cpu, or far: a device for tests whose memory the host cannot reach, far:1 the second of its "
    "kind (default: the environment variable PLIMSOLL_DEVICE, else cpu)";

// Adds --set, --config and --policy to a command. `arguments` must outlive the parsing.
void AddConfigArguments(CommandOptions& command, ConfigArguments& arguments);

// Adds an argument that stands for one option: `--policy 2` for `--set static_memory_policy=2`.
void AddShort(CommandOptions& command, ConfigArguments& arguments, const std::string& argument,
              const std::string& option, const std::string& help);

// An option of which every legal value is wanted: `--policy all`.
struct EveryValue {
  std::string argument;
  std::string option;
  std::vector<std::string> values;
};
inline constexpr const char* kEveryValue = "all";
// Takes it out of the arguments; nothing where there is none. Fails with cli.all where there are
// several.
Result<std::optional<EveryValue>> TakeEveryValue(ConfigArguments& arguments);
// The arguments with one value of it.
ConfigArguments WithValue(ConfigArguments arguments, const EveryValue& option,
                          const std::string& value);

// What the arguments and the environment amount to. The command line wins over files; errors name
// the argument, or the place in a file.
Result<config::EffectiveConfig> ResolveArguments(const ConfigArguments& arguments);

}  // namespace plimsoll::cli
