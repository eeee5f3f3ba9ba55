#include "engine/tuning/session_tuning.h"

#include "engine/tuning/runnable_model.h"
#include "engine/tuning/tuning_repository.h"
#include "plimsoll/base/log.h"

namespace plimsoll::engine {

Result<compile::TuningOptions> OpenTuning(const TuningSettings& settings) {
  using Mode = TuningSettings::Mode;
  compile::TuningOptions options;
  if (settings.mode == Mode::kGradientSplit) {
    Log(LogLevel::kWarning,
        "aoe_mode 4 tunes nothing: one process has no gradients to split between devices");
  }
  const bool tunes = settings.mode == Mode::kSubgraphs || settings.mode == Mode::kOperators;
  if (!tunes && settings.work_path.empty()) return options;
  PLIMSOLL_ASSIGN(options.store, TuningRepository::Open(settings.work_path));
  options.subgraphs = settings.mode == Mode::kSubgraphs;
  options.operators = settings.mode == Mode::kOperators;
  options.names = settings.names;
  options.types = settings.types;
  options.high_performance = settings.high_performance;
  options.deeper = settings.deeper_opat;
  options.uneven_split = settings.nonhomo_split;
  options.make_runnable = MakeRunnableModel;
  return options;
}

}  // namespace plimsoll::engine
