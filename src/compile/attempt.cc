#include "compile/attempt.h"

#include <algorithm>

#include "compile/passes/bodies.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::NodeId;
using graph::ValueId;

// Where the peak is above plain lives after all, it is a workspace that lifts it.
void NameWorkspaceAbovePlain(CompiledModel& model, std::optional<Bytes> plain_peak) {
  const Bytes above = FeatureMapPeak(model.planned) - plain_peak.value_or(Bytes(kSaturated));
  const std::vector<Bytes> live = LiveBytes(model.planned);
  if (above <= Bytes(0) || live.empty()) return;
  const auto top = std::max_element(live.begin(), live.end());
  const NodeId node = model.planned.timeline.steps[static_cast<size_t>(top - live.begin())].node;
  const auto& kernel = model.kernels[node.index()];
  if (kernel == nullptr || kernel->workspace() == Bytes(0)) return;
  Technique workspace;
  workspace.name = StrCat("workspace of ", FormatBytes(kernel->workspace()), " at ",
                          Describe(model.graph, node));
  workspace.taken = 1;
  workspace.gained = Bytes(0) - above;
  workspace.reason = StrCat("holds ", kernel->workspace_purpose(), " and cannot be smaller");
  model.planned.techniques.push_back(std::move(workspace));
}

}  // namespace

Attempt Attempt::Again() const {
  Attempt again;
  again.layouts = layouts;
  again.grouped = grouped;
  again.most_workspace = most_workspace;
  again.lowered_by = lowered_by;
  again.regions = regions;
  again.cuts = cuts;
  again.sliced_by = sliced_by;
  again.repeated = repeated;
  again.repeated_by = repeated_by;
  again.choices = choices;
  again.model.graph = model.graph;
  again.model.fusion = model.fusion;
  return again;
}

std::vector<Bytes> WorkspacesOf(const CompiledModel& model) {
  std::vector<Bytes> workspaces(model.graph.nodes.size());
  for (size_t i = 0; i < model.kernels.size(); ++i) {
    if (model.kernels[i] != nullptr) workspaces[i] = model.kernels[i]->workspace();
  }
  return workspaces;
}

std::vector<ValueId> LargeAtPeak(const CompiledModel& model) {
  const PlannedModel& planned = model.planned;
  const std::vector<Bytes> live = LiveBytes(planned);
  if (live.empty()) return {};
  const Bytes peak = *std::max_element(live.begin(), live.end());
  std::vector<int64_t> high_before(live.size() + 1);  // how many steps before this are high
  for (size_t i = 0; i < live.size(); ++i) {
    high_before[i + 1] = high_before[i] + (live[i] * 10 >= peak * 9 ? 1 : 0);
  }
  std::vector<int64_t> begin(model.graph.values.size(), -1);
  std::vector<int64_t> end(model.graph.values.size(), -1);
  for (const Access& access : planned.timeline.accesses) {
    if (begin[access.value.index()] < 0) begin[access.value.index()] = access.step;
    end[access.value.index()] = access.step + 1;
  }
  std::vector<ValueId> large;
  const auto size = [&](ValueId value) { return PlannedSize(model.graph[value].type); };
  for (size_t i = 0; i < model.graph.values.size(); ++i) {
    const ValueId value(i);
    if (begin[i] < 0 || !model.graph[value].producer.valid() || size(value) * 16 < peak) continue;
    const bool high =
        high_before[static_cast<size_t>(end[i])] > high_before[static_cast<size_t>(begin[i])];
    if (high) large.push_back(value);
  }
  std::stable_sort(large.begin(), large.end(),
                   [&](ValueId a, ValueId b) { return size(a) > size(b); });
  return large;
}

std::vector<Bytes> WorkspacesWithin(const CompiledModel& model, Bytes peak) {
  std::vector<Bytes> most = WorkspacesOf(model);
  const std::vector<Bytes> taken = most;
  if (model.planned.timeline.steps_of_stream.size() > 1) return most;
  std::vector<bool> seen(most.size());
  const std::vector<Bytes> live = LiveBytes(model.planned);
  for (size_t i = 0; i < live.size(); ++i) {
    const size_t node = model.planned.timeline.steps[i].node.index();
    const Bytes room = std::max(peak - (live[i] - taken[node]), Bytes(0));
    most[node] = seen[node] ? std::min(most[node], room) : room;
    seen[node] = true;
  }
  return most;
}

void AddTechniques(Attempt& attempt, Bytes first, std::optional<Bytes> plain_peak) {
  std::vector<Technique>& techniques = attempt.model.planned.techniques;
  if (attempt.grouped > 0 || attempt.layouts != GroupedChannels::kWherePossible) {
    Technique layouts;
    layouts.name = "grouped channels";
    layouts.taken = attempt.grouped;
    if (attempt.layouts != GroupedChannels::kWherePossible) {
      layouts.declined = 1;
      layouts.reason = StrCat("with them everywhere the peak would be ", FormatBytes(first));
    }
    techniques.push_back(std::move(layouts));
  }
  if (attempt.regions > 0) {
    Technique slices;
    slices.name = "slice by slice";
    slices.taken = attempt.regions;
    slices.gained = attempt.sliced_by;
    techniques.push_back(std::move(slices));
  }
  if (attempt.repeated > 0) {
    Technique repeated;
    repeated.name = "made again for later readers";
    repeated.taken = attempt.repeated;
    repeated.gained = attempt.repeated_by;
    techniques.push_back(std::move(repeated));
  }
  if (!attempt.model.side_by_side.empty()) {
    Technique branches;
    branches.name = "branches side by side";
    branches.taken = static_cast<int>(attempt.model.side_by_side.size());
    techniques.push_back(std::move(branches));
  }
  NameWorkspaceAbovePlain(attempt.model, plain_peak);
  const int lowered =
      static_cast<int>(std::count_if(attempt.most_workspace.begin(), attempt.most_workspace.end(),
                                     [](Bytes most) { return most != Bytes(kSaturated); }));
  if (lowered == 0) return;
  Technique workspaces;
  workspaces.name = "kernels with smaller workspaces";
  workspaces.taken = lowered;
  workspaces.gained = attempt.lowered_by;
  techniques.push_back(std::move(workspaces));
}

}  // namespace plimsoll::compile
