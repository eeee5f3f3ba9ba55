#include "cli/reports/clearing_report.h"

#include <fmt/format.h>

#include "cli/reports/text_table.h"
#include "compile/passes/bodies.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using compile::PlannedModel;

// What must be zero, whoever clears it.
PlanReport::Clearing Needs(const graph::Graph& graph, const PlannedModel& planned) {
  PlanReport::Clearing clearing;
  for (const compile::Step& step : planned.timeline.steps) {
    const graph::Node& node = graph[step.node];
    if (step.kind == compile::Step::Kind::kEnd || node.memory.needs_clearing.empty()) continue;
    ++clearing.nodes;
    for (const int output : node.memory.needs_clearing) {
      const auto index = static_cast<size_t>(output);
      if (index >= node.outputs.size() || !node.outputs[index].valid()) continue;
      clearing.cleared += compile::PlannedSize(graph[node.outputs[index]].type);
    }
  }
  return clearing;
}

}  // namespace

Result<std::optional<PlanReport::Clearing>> CompareClearing(const graph::Graph& graph,
                                                            const PlannedModel& planned,
                                                            const compile::PlanOptions& options) {
  PlanReport::Clearing clearing = Needs(graph, planned);
  if (clearing.nodes == 0) return std::optional<PlanReport::Clearing>();
  compile::PlanOptions other = options;
  other.lifetimes.clear_together = !options.lifetimes.clear_together;
  PLIMSOLL_ASSIGN(const PlannedModel again, compile::PlanModel(graph, other));
  const bool asked_together = options.lifetimes.clear_together;
  const PlannedModel& together = asked_together ? planned : again;
  const PlannedModel& separate = asked_together ? again : planned;
  clearing.policy = asked_together ? 0 : 1;
  clearing.peak_together = compile::FeatureMapPeak(together);
  clearing.peak_separate = compile::FeatureMapPeak(separate);
  for (const plan::ClearingArea& area : together.plan.clearing_areas) clearing.area += area.size;
  return std::optional(clearing);
}

Result<std::optional<PlanReport::Clearing>> CompareClearing(const compile::CompiledModel& model) {
  return CompareClearing(model.graph, model.planned, model.plan_options);
}

std::string ClearingText(const PlanReport::Clearing& clearing) {
  return fmt::format(
      "Cleared: {} of {}, atomic_clean_policy {}\n"
      "  policy 0 takes {:>12}: one clear of one area of {}, shared with nobody\n"
      "  policy 1 takes {:>12}: each node clears its own before it runs\n"
      "  the common area costs {} more than policy 1\n",
      FormatBytes(clearing.cleared), Counted(static_cast<size_t>(clearing.nodes), "node"),
      clearing.policy, FormatBytes(clearing.peak_together), FormatBytes(clearing.area),
      FormatBytes(clearing.peak_separate), FormatBytes(clearing.area_cost()));
}

Json ClearingJson(const PlanReport::Clearing& clearing) {
  return {{"atomic_clean_policy", clearing.policy},
          {"nodes", clearing.nodes},
          {"cleared_bytes", clearing.cleared.value()},
          {"area_bytes", clearing.area.value()},
          {"peak_bytes_policy_0", clearing.peak_together.value()},
          {"peak_bytes_policy_1", clearing.peak_separate.value()},
          {"area_cost_bytes", clearing.area_cost().value()}};
}

}  // namespace plimsoll::cli
