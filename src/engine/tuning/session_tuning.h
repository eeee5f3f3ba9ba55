#pragma once

#include <string>
#include <vector>

#include "compile/tuning/tuning.h"
#include "plimsoll/base/status.h"

namespace plimsoll::engine {

// What a session is to tune (aoe_mode, work_path, aoe_config_file).
struct TuningSettings {
  enum class Mode { kOff = 0, kSubgraphs = 1, kOperators = 2, kGradientSplit = 4 };
  Mode mode = Mode::kOff;
  std::string work_path;           // empty: the current folder; with kOff: no results are used
  std::vector<std::string> names;  // with `types`: tune_ops_name, tune_ops_type
  std::vector<std::string> types;
  bool high_performance = false;  // tune_optimization_level O1
  bool deeper_opat = false;
  bool nonhomo_split = false;
};

// Opens the repository where there is one to use. Fails as TuningRepository::Open does. Mode 4 is
// answered by a line in the log: there are no gradients to split in one process.
Result<compile::TuningOptions> OpenTuning(const TuningSettings& settings);

}  // namespace plimsoll::engine
