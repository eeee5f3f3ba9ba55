#pragma once

#include "config/effective_config.h"
#include "config/settings.h"

namespace plimsoll::config {

// Settles the parts of the configuration that several options decide together: where dumps, files
// for debugging and the cache go, whether there is a cache and of which size, and which of the
// files on precision count. Reads op_cache.ini where there is one. `npu_run_config` says whether
// the documents' own defaults hold.
void DeriveSettings(const Environment& environment, bool npu_run_config,
                    EffectiveConfig& effective);

// Whether op_debug_level asks for kernels that are compiled anew.
bool DebugsOperators(const EffectiveConfig& effective);

}  // namespace plimsoll::config
