#include "compile/memory/assigner_choice.h"

#include <algorithm>

namespace plimsoll::compile {
namespace {

using Made = Result<std::unique_ptr<plan::MemAssigner>>;

plan::AssignerOptions OptionsOf(const AssignerChoice& choice) {
  plan::AssignerOptions options;
  options.block_reuse = choice.block_reuse;
  options.batches = choice.batches;
  options.batch_strategies = choice.batch_strategies;
  if (choice.name == "block") options.other_batches = choice.block_reuse;
  return options;
}

}  // namespace

Made AssignerFor(const AssignerChoice& choice, const plan::Problem& problem, std::string_view gear,
                 int threads) {
  plan::AssignerOptions options = OptionsOf(choice);
  options.threads = threads;
  const auto own = choice.batch_strategies.find(std::string(gear));
  if (own != choice.batch_strategies.end()) {
    if (own->second) options.block_reuse = *own->second;
    return plan::MakeAssigner(own->second ? "block" : "hybrid", options);
  }
  if (!choice.batch_strategies.empty() && !problem.batches.empty()) {
    return plan::MakeAssigner("dynamic_batch", options);
  }
  return plan::MakeAssigner(choice.name.empty() ? "hybrid" : choice.name, options);
}

Made AssignerForGears(const AssignerChoice& choice) {
  const bool by_batch = choice.name.empty() || choice.name == "hybrid" || choice.name == "block";
  return plan::MakeAssigner(by_batch ? "dynamic_batch" : choice.name, OptionsOf(choice));
}

std::vector<std::string> UnknownBatches(const AssignerChoice& choice,
                                        const std::vector<std::string>& known) {
  std::vector<std::string> unknown;
  for (const auto& [label, strategy] : choice.batch_strategies) {
    if (std::find(known.begin(), known.end(), label) == known.end()) unknown.push_back(label);
  }
  return unknown;
}

}  // namespace plimsoll::compile
