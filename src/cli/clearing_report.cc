#include "cli/clearing_report.h"

#include "compile/bodies.h"

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
  const PlannedModel& apart = asked_together ? again : planned;
  clearing.policy = asked_together ? 0 : 1;
  clearing.peak_together = compile::FeatureMapPeak(together);
  clearing.peak_apart = compile::FeatureMapPeak(apart);
  for (const plan::ClearingArea& area : together.plan.clearing_areas) clearing.area += area.size;
  return std::optional(clearing);
}

}  // namespace plimsoll::cli
