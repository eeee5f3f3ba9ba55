#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/assigner.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::compile {

// Who places the buffers of a model, as far as anybody chose.
struct AssignerChoice {
  std::string name;                   // of plan::AssignerNames; empty: the default
  plan::BlockReuseKnobs block_reuse;  // of "block"
  plan::BatchPolicy batches;
  // By the label of a batch or of a gear; the others are placed as `name` says.
  std::map<std::string, plan::BatchStrategy> batch_strategies;
};

// For the problem of one model. `gear` is the label of the gear that it is planned for, or empty.
Result<std::unique_ptr<plan::MemAssigner>> AssignerFor(const AssignerChoice& choice,
                                                       const plan::Problem& problem,
                                                       std::string_view gear, int threads);

// For the feature maps of all gears as one problem, each gear a batch.
Result<std::unique_ptr<plan::MemAssigner>> AssignerForGears(const AssignerChoice& choice);

// The labels that have a strategy and are not among `known`.
std::vector<std::string> UnknownBatches(const AssignerChoice& choice,
                                        const std::vector<std::string>& known);

}  // namespace plimsoll::compile
