#include "engine/api/plan_report.h"

#include "compile/memory/port_uses.h"

namespace plimsoll::engine {
namespace {

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
    if (region.memory_type == plan::MemoryType::kHost) report.host += row.bytes;
    const bool weights = plan::RegionId(i) == model.buffers.weights;
    if (row.from_device && !weights) report.feature_map += row.bytes;
    report.regions.push_back(std::move(row));
  }
}

std::vector<std::string> NamesOf(const graph::Graph& graph,
                                 const std::vector<graph::ValueId>& values) {
  std::vector<std::string> names;
  for (const graph::ValueId value : values) names.push_back(graph[value].name);
  return names;
}

std::vector<PortUse> PortsOfRoot(const graph::Graph& graph, const compile::PortUses& uses) {
  return PortUsesOf(NamesOf(graph, graph.root().inputs), NamesOf(graph, graph.root().outputs),
                    uses);
}

}  // namespace

std::vector<PortUse> PortUsesOf(const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs,
                                const compile::PortUses& uses) {
  std::vector<PortUse> ports;
  const auto add = [&](const std::vector<std::string>& names, bool input,
                       const std::vector<compile::PortUse>& how) {
    for (size_t i = 0; i < names.size() && i < how.size(); ++i) {
      ports.push_back({names[i], input, how[i].in_place(), how[i].reason});
    }
  };
  add(inputs, true, uses.inputs);
  add(outputs, false, uses.outputs);
  return ports;
}

PlanReport MakePlanReport(const graph::Graph& graph, const compile::PlannedModel& model) {
  PlanReport report;
  const plan::RegionPlan& map = model.plan.regions[model.buffers.feature_map.index()];
  report.planned = true;
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
  AddRegions(model, report);
  report.ports = PortsOfRoot(graph, compile::FindPortUses(graph, model.buffers));
  return report;
}

PlanReport MakePlanReport(const Executable& executable, const GraphMemory& memory) {
  const compile::CompiledModel& model = executable.model();
  PlanReport report = MakePlanReport(model.graph, model.planned);
  report.ports = PortsOfRoot(model.graph, executable.port_uses());
  report.weights = memory.weights;
  report.host_nodes = model.transfers.host_nodes;
  report.fetches = model.transfers.fetches;
  report.fetched = model.transfers.fetched;
  report.sends = model.transfers.sends;
  report.sent = model.transfers.sent;
  for (PlanReport::Region& row : report.regions) {
    if (row.kind == plan::Name(plan::RegionKind::kWeights)) row.bytes = report.weights;
  }
  return report;
}

}  // namespace plimsoll::engine
