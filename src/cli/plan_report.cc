#include "cli/plan_report.h"

#include <algorithm>

#include "compile/port_uses.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/pack.h"

namespace plimsoll::cli {
namespace {

using compile::Block;
using compile::Home;
using compile::Piece;
using graph::Graph;

// The caller's own memory and the host's are not taken from the device.
bool FromDevice(const plan::Region& region) {
  return region.kind != plan::RegionKind::kZeroCopy &&
         region.memory_type != plan::MemoryType::kHost;
}

void AddRegions(const compile::PlannedModel& model, PlanReport& report) {
  const plan::Problem& problem = model.buffers.problem;
  for (size_t i = 0; i < problem.regions.size(); ++i) {
    const plan::Region& region = problem.regions[i];
    PlanReport::Region row;
    row.name = region.name;
    row.kind = plan::Name(region.kind);
    row.bytes = model.plan.regions[i].size;
    row.lower_bound = model.plan.regions[i].lower_bound;
    row.alignment = region.alignment;
    row.from_device = FromDevice(region);
    row.buffers = static_cast<int>(std::count_if(
        problem.buffers.begin(), problem.buffers.end(),
        [&](const plan::Buffer& buffer) { return buffer.region == plan::RegionId(i); }));
    if (row.from_device) report.total += row.bytes;
    report.regions.push_back(std::move(row));
  }
}

std::vector<Bytes> Waterline(const compile::PlannedModel& model) {
  std::vector<Bytes> change(model.timeline.steps.size() + 2);
  for (const Block& block : model.blocks.blocks) {
    if (block.home != Home::kFeatureMap) continue;
    for (const Piece& piece : block.pieces) {
      change[static_cast<size_t>(piece.birth)] += piece.bytes;
      change[static_cast<size_t>(piece.end)] -= piece.bytes;
    }
  }
  std::vector<Bytes> live;
  Bytes now;
  for (size_t i = 0; i + 2 < change.size(); ++i) live.push_back(now += change[i]);
  return live;
}

void DescribePeak(const Graph& graph, const compile::PlannedModel& model, PlanReport& report) {
  if (report.waterline.empty()) return;
  const auto top = std::max_element(report.waterline.begin(), report.waterline.end());
  const int64_t step = top - report.waterline.begin();
  report.peak_node = Describe(graph, model.timeline.steps[static_cast<size_t>(step)].node);
  for (const Block& block : model.blocks.blocks) {
    if (block.home != Home::kFeatureMap) continue;
    Bytes bytes;
    for (const Piece& piece : block.pieces) {
      if (piece.birth <= step && step < piece.end) bytes += piece.bytes;
    }
    if (bytes > Bytes(0)) report.peak_owners.push_back({graph[block.values[0]].name, bytes});
  }
  std::stable_sort(report.peak_owners.begin(), report.peak_owners.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
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

std::vector<std::string> SymbolsLeft(const Graph& graph) {
  std::vector<std::string> symbols;
  for (const graph::Value& value : graph.values) {
    graph::ValueType type = value.type;
    ForEachDim(type, [&](graph::Dim& dim) { dim.CollectSymbols(symbols); });
  }
  return symbols;
}

}  // namespace

PlanReport MakePlanReport(const Graph& graph, const compile::PlannedModel& model,
                          std::string file) {
  PlanReport report;
  const size_t map = model.buffers.feature_map.index();
  report.file = std::move(file);
  report.peak = model.plan.regions[map].size;
  report.lower_bound = model.plan.regions[map].lower_bound;
  report.optimal = model.plan.regions[map].optimal;
  report.file_order_lower_bound = model.file_order_lower_bound;
  report.weights = model.weights;
  report.nodes = static_cast<int>(model.order.size());
  report.buffers = static_cast<int>(model.buffers.problem.buffers.size());
  report.deadline_hit = model.plan.deadline_hit;
  report.assigner = model.plan.assigner;
  report.counted_as_one = SymbolsLeft(graph);
  AddRegions(model, report);
  SetPorts(graph, compile::FindPortUses(graph, model.buffers), report);
  SetMergedBatches(model.plan, report);
  report.waterline = Waterline(model);
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

void AddCompiled(const engine::Executable& executable, PlanReport& report) {
  report.compiled_peak = compile::FeatureMapPeak(executable.model().planned);
  SetPorts(executable.model().graph, executable.port_uses(), report);
  SetMergedBatches(executable.model().planned.plan, report);
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
