#include "cli/reports/plan/plan_report.h"

#include <algorithm>

#include "engine/api/plan_report.h"
#include "plimsoll/base/text.h"
#include "plimsoll/plan/pack.h"

namespace plimsoll::cli {
namespace {

using graph::Graph;

void DescribePeak(const Graph& graph, const compile::PlannedModel& model, PlanReport& report) {
  const engine::FeatureMapLives lives(model);
  report.waterline = lives.waterline();
  const int64_t step = lives.peak_step();
  if (step < 0) return;
  report.peak_node = Describe(graph, model.timeline.steps[static_cast<size_t>(step)].node);
  report.peak_owners = lives.OwnersAt(step);
}

void SetMergedBatches(const plan::MemoryPlan& plan, PlanReport& report) {
  report.merged_batches = {plan.merged_blocks.size(), plan.merged_size(), plan.merged_cost()};
}

}  // namespace

MemoryTable PlanReports::table() const {
  Bytes caller;
  for (const PlanReport& model : models) caller += model.caller;
  return PredictedMemory(*memory, caller, program);
}

PlanReport MakePlanReport(const Graph& graph, const compile::PlannedModel& model) {
  PlanReport report;
  static_cast<plimsoll::PlanReport&>(report) = engine::MakePlanReport(graph, model);
  report.techniques = model.techniques;
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
    report.notes.emplace_back(
        "weights", settled == 1 ? "1 address is chosen first and never changes"
                                : StrCat(settled, " addresses are chosen first and never change"));
  }
  return report;
}

PlanReport MakePlanReport(const engine::Executable& executable, const engine::GraphMemory& memory) {
  const compile::CompiledModel& model = executable.model();
  PlanReport report = MakePlanReport(model.graph, model.planned);
  static_cast<plimsoll::PlanReport&>(report) = engine::MakePlanReport(executable, memory);
  report.packed = memory.packed;
  report.fusion = model.fusion;
  return report;
}

std::string PlanCsv(const compile::PlannedModel& model) {
  plan::BufferTable table;
  table.problem.AddRegion(model.buffers.problem.region(model.buffers.feature_map));
  std::vector<Offset> offsets;
  for (size_t i = 0; i < model.buffers.problem.buffers.size(); ++i) {
    plan::Buffer buffer = model.buffers.problem.buffers[i];
    if (buffer.region != model.buffers.feature_map) continue;
    table.names.push_back(buffer.name);
    buffer.name = StrCat(i);
    buffer.region = plan::RegionId(0);
    table.problem.AddBuffer(std::move(buffer));
    offsets.push_back(model.plan.offsets[i]);
    table.offsets.emplace_back(offsets.back());
  }
  return plan::WriteBufferTable(table, offsets);
}

}  // namespace plimsoll::cli
