#pragma once

#include <span>
#include <string_view>

#include "config/options/option.h"
#include "plimsoll/base/status.h"

namespace plimsoll::config {

// Every option, in the order in which they are listed. A new option is a row in one of the files
// *_options.cc; nothing else knows options by name. Thread-safe; the first call builds the table.
std::span<const Option> OptionTable();

// The row with this name or further key, or that of a field behind its object
// (memory_config.static_memory_policy); null when there is none.
const Option* FindOption(std::string_view key);

// The same, or an error that proposes the nearest name. `origin` says who asks.
Result<const Option*> LookUpOption(std::string_view key, std::string_view origin);

}  // namespace plimsoll::config
