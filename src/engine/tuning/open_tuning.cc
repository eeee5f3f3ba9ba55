#include "engine/tuning/open_tuning.h"

#include "engine/tuning/runnable_model.h"
#include "engine/tuning/tuning_repository.h"
#include "plimsoll/base/log.h"

namespace plimsoll::engine {

Result<compile::TuningOptions> OpenTuning(const config::AoeSettings& settings) {
  using Mode = config::AoeSettings::Mode;
  compile::TuningOptions options;
  if (settings.mode == Mode::kGradientSplit) {
    Log(LogLevel::kWarning,
        "aoe_mode 4 tunes nothing: one process has no gradients to split between devices");
  }
  options.subgraphs = settings.mode == Mode::kSubgraph;
  options.operators = settings.mode == Mode::kOperator;
  if (!options.subgraphs && !options.operators && settings.work_path.empty()) return options;
  PLIMSOLL_ASSIGN(options.store, TuningRepository::Open(settings.work_path));
  options.names = settings.operators.names;
  options.types = settings.operators.types;
  options.high_performance = settings.high_performance;
  options.deeper = settings.deeper_opat;
  options.uneven_split = settings.nonhomo_split;
  options.make_runnable = MakeRunnableModel;
  return options;
}

}  // namespace plimsoll::engine
