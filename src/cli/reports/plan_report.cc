#include "cli/reports/plan_report.h"

#include <algorithm>

#include "compile/memory/port_uses.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/pack.h"

namespace plimsoll::cli {
namespace {

using graph::Graph;

// The caller's own memory and the host's are not taken from the device.
bool FromDevice(const plan::Region& region) {
  return region.kind != plan::RegionKind::kZeroCopy &&
         region.memory_type != plan::MemoryType::kHost;
}

void AddRegions(const compile::PlannedModel& model, PlanReport& report) {
  const plan::Problem& problem = model.buffers.problem;
  std::vector<int> buffers(problem.regions.size());
  for (const plan::Buffer& buffer : problem.buffers) ++buffers[buffer.region.index()];
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    const plan::Region& region = problem.regions[i];
    PlanReport::Region row;
    row.name = region.name;
    row.kind = plan::Name(region.kind);
    row.bytes = model.plan.regions[i].size;
    row.lower_bound = model.plan.regions[i].lower_bound;
    row.alignment = region.alignment;
    row.from_device = FromDevice(region);
    row.buffers = buffers[i];
    const bool weights = plan::RegionId(i) == model.buffers.weights;
    if (row.from_device && !weights) report.feature_map += row.bytes;
    report.regions.push_back(std::move(row));
  }
}

void DescribePeak(const Graph& graph, const compile::PlannedModel& model, PlanReport& report) {
  const FeatureMapLives lives(model);
  report.waterline = lives.waterline();
  const int64_t step = lives.peak_step();
  if (step < 0) return;
  report.peak_node = Describe(graph, model.timeline.steps[static_cast<size_t>(step)].node);
  report.peak_owners = lives.OwnersAt(step);
}

void SetPorts(const Graph& graph, const compile::PortUses& uses, PlanReport& report) {
  report.ports.clear();
  const auto add = [&](const std::vector<graph::ValueId>& ports, bool input,
                       const std::vector<compile::PortUse>& how) {
    for (size_t i = 0; i < ports.size(); ++i) {
      report.ports.push_back({graph[ports[i]].name, input, how[i].in_place(), how[i].reason});
    }
  };
  add(graph.root().inputs, true, uses.inputs);
  add(graph.root().outputs, false, uses.outputs);
}

void SetMergedBatches(const plan::MemoryPlan& plan, PlanReport& report) {
  report.merged_batches = {plan.merged_blocks.size(), plan.merged_size(), plan.merged_cost()};
}

}  // namespace

std::vector<std::string> SymbolsLeft(const Graph& graph) {
  std::vector<std::string> symbols;
  for (const graph::Value& value : graph.values) {
    graph::ValueType type = value.type;
    ForEachDim(type, [&](graph::Dim& dim) { dim.CollectSymbols(symbols); });
  }
  return symbols;
}

PlanReport MakePlanReport(const Graph& graph, const compile::PlannedModel& model) {
  PlanReport report;
  const plan::RegionPlan& map = model.plan.regions[model.buffers.feature_map.index()];
  report.peak = map.size;
  report.lower_bound = map.lower_bound;
  report.optimal_for_order = map.optimal;
  report.order_lower_bound = model.order_lower_bound;
  report.plain_peak = model.file_order_lower_bound;
  report.weights = model.weights;
  report.nodes = static_cast<int>(model.order.size());
  report.buffers = static_cast<int>(model.buffers.problem.buffers.size());
  report.deadline_hit = model.plan.deadline_hit;
  report.assigner = model.plan.assigner;
  report.techniques = model.techniques;
  AddRegions(model, report);
  SetPorts(graph, compile::FindPortUses(graph, model.buffers), report);
  SetMergedBatches(model.plan, report);
  DescribePeak(graph, model, report);
  for (const auto& note : model.buffers.notes) report.notes.emplace_back(note.value, note.text);
  int settled = 0;
  for (const plan::PlanNote& note : model.plan.notes) {
    const plan::Problem& problem = model.buffers.problem;
    const bool weight =
        note.buffer.valid() && problem.buffer(note.buffer).region == model.buffers.weights;
    if (note.kind == plan::PlanNote::Kind::kImmutableAddress && weight) {
      ++settled;
      continue;
    }
    if (note.kind == plan::PlanNote::Kind::kMergedBatchesCost) continue;
    report.notes.emplace_back(note.buffer.valid() ? problem.buffer(note.buffer).name : "plan",
                              note.text);
  }
  if (settled > 0) {
    report.notes.emplace_back("weights",
                              StrCat(settled, " addresses are settled first and never change"));
  }
  return report;
}

PlanReport MakePlanReport(const engine::Executable& executable, const engine::GraphMemory& memory) {
  const compile::CompiledModel& model = executable.model();
  PlanReport report = MakePlanReport(model.graph, model.planned);
  SetPorts(model.graph, executable.port_uses(), report);
  report.weights = memory.weights;
  report.packed = memory.packed;
  for (PlanReport::Region& row : report.regions) {
    if (row.kind == plan::Name(plan::RegionKind::kWeights)) row.bytes = report.weights;
  }
  return report;
}

std::string PlanCsv(const compile::PlannedModel& model) {
  plan::Problem table;
  table.regions.push_back(model.buffers.problem.region(model.buffers.feature_map));
  std::vector<Offset> offsets;
  for (size_t i = 0; i < model.buffers.problem.buffers.size(); ++i) {
    plan::Buffer buffer = model.buffers.problem.buffers[i];
    if (buffer.region != model.buffers.feature_map) continue;
    buffer.name = StrCat(i);
    buffer.region = plan::RegionId(0);
    table.AddBuffer(std::move(buffer));
    offsets.push_back(model.plan.offsets[i]);
  }
  return plan::WriteBufferTable(table, offsets);
}

}  // namespace plimsoll::cli
