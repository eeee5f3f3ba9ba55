#include "engine/profile/plan_profile.h"

#include <algorithm>
#include <map>

#include "compile/memory/storage/storages.h"
#include "engine/profile/module_paths.h"
#include "engine/profile/operator_work.h"
#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

using graph::Graph;
using graph::NodeId;
using profile::PlanTable;
using profile::TensorKind;

// Whose memory a buffer is: the node that makes its value or works in it, and what to call it.
struct BufferOwner {
  NodeId node;
  std::string name;
  TensorKind kind = TensorKind::kActivation;
  graph::ValueId value = {};  // where it is one
};

std::map<plan::BufferId, BufferOwner> OwnersOf(const compile::CompiledModel& model) {
  const Graph& graph = model.graph;
  const compile::PlannedBuffers& buffers = model.planned.buffers;
  std::map<plan::BufferId, BufferOwner> owners;
  for (size_t i = 0; i < buffers.workspace_of.size(); ++i) {
    const plan::BufferId buffer = buffers.workspace_of[i];
    if (buffer.valid()) {
      owners[buffer] = {NodeId(i), buffers.problem.buffer(buffer).name, TensorKind::kWorkspace};
    }
  }
  for (const compile::PlannedBuffers::GroupCopy& copy : buffers.group_copies) {
    owners[copy.buffer] = {copy.node, buffers.problem.buffer(copy.buffer).name, TensorKind::kCopy};
  }
  // Pieces of a value carry the names of what begins in them.
  std::map<std::string_view, graph::ValueId> values;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    values.try_emplace(graph.values[i].name, graph::ValueId(i));
  }
  for (size_t i = 0; i < buffers.problem.buffers.size(); ++i) {
    const plan::Buffer& buffer = buffers.problem.buffers[i];
    const auto value = values.find(buffer.name);
    if (value == values.end()) continue;
    const NodeId maker = graph[value->second].producer;
    // What no node makes is a copy of the caller's.
    const TensorKind kind = buffer.atomic_addr_clean_id != plan::kNoClearing ? TensorKind::kCleared
                            : maker.valid() ? TensorKind::kActivation
                                            : TensorKind::kCopy;
    owners.try_emplace(plan::BufferId(i), BufferOwner{maker, buffer.name, kind, value->second});
  }
  return owners;
}

// Bytes that a task of a view finds where they should be: an output that lies in an input, an input
// that was written straight into the output.
Bytes BytesInPlace(const Executable& executable, const Task& task) {
  const Graph& graph = executable.model().graph;
  const graph::Node& node = graph[task.node];
  if (graph::FactsOf(node).view == graph::View::kNone) return {};
  const auto& operands = executable.program().operands;
  const auto size_of = [&](graph::ValueId value) {
    return value.valid() ? graph::SizeOf(graph[value].type).value_or(Bytes(0)) : Bytes(0);
  };
  Bytes there;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Place& from = operands[task.first + i];
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const Place& to = operands[task.first + node.inputs.size() + k];
      const Bytes read = size_of(node.inputs[i]);
      const Bytes written = size_of(node.outputs[k]);
      const bool meet = from.base == to.base && from.index == to.index &&
                        from.offset < to.offset + written.value() &&
                        to.offset < from.offset + read.value();
      if (meet) there += std::min(read, written);
    }
  }
  return there;
}

}  // namespace

std::string OperatorName(const Graph& graph, NodeId node) {
  const std::string& name = graph[node].name;
  return name.empty() ? StrCat(graph[node].op, "_", node.index()) : name;
}

PlanProfile::Lists PlanProfile::ListBySteps(
    size_t steps, const std::vector<std::pair<int64_t, uint32_t>>& entries) {
  Lists lists;
  lists.first.assign(steps + 2, 0);
  for (const auto& [step, entry] : entries) ++lists.first[static_cast<size_t>(step) + 2];
  for (size_t i = 2; i < lists.first.size(); ++i) lists.first[i] += lists.first[i - 1];
  lists.all.resize(entries.size());
  for (const auto& [step, entry] : entries) {
    lists.all[lists.first[static_cast<size_t>(step) + 1]++] = entry;
  }
  return lists;
}

void PlanProfile::NameNodes(profile::Recorder& recorder, const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    node_names_.push_back(recorder.Intern(OperatorName(graph, NodeId(i))));
  }
}

PlanProfile::PlanProfile(profile::Recorder& recorder, const ProfiledGraph& graph,
                         const Graph& nodes)
    : steps_of_(1) {
  NameNodes(recorder, nodes);
  PlanTable table;
  table.graph = graph.name;
  table.model = graph.model;
  table.graph_id = graph.id;
  for (size_t i = 0; i < nodes.nodes.size(); ++i) {
    PlanTable::Operator about;
    about.name = node_names_[i];
    about.type = recorder.Intern(nodes.nodes[i].op);
    table.operators.push_back(about);
  }
  id_ = recorder.AddPlan(std::move(table));
}

PlanProfile::PlanProfile(profile::Recorder& recorder, const ProfiledGraph& graph,
                         const Executable& executable)
    : steps_of_(StepsOfStreams(executable.model().planned.timeline)) {
  const compile::PlannedModel& planned = executable.model().planned;
  const auto& steps = planned.timeline.steps;
  NameNodes(recorder, executable.model().graph);
  stream_of_.resize(executable.model().graph.nodes.size());
  for (const compile::Step& step : steps) {
    stream_of_[step.node.index()] = steps_of_.size() == 1 ? 0 : step.stream;
  }
  for (RunLife& life : RunLivesOf(planned, executable.program().batches)) {
    if (life.handed_out > 0) lives_.push_back(std::move(life));
  }
  std::vector<std::pair<int64_t, uint32_t>> begins;
  std::vector<std::pair<int64_t, uint32_t>> ends;
  for (size_t i = 0; i < lives_.size(); ++i) {
    const auto number = static_cast<uint32_t>(i);
    begins.emplace_back(lives_[i].begin, number);
    for (const int64_t step : lives_[i].last_steps) ends.emplace_back(step, number);
  }
  begins_ = ListBySteps(steps.size(), begins);
  ends_ = ListBySteps(steps.size(), ends);
  FindTasks(executable);
  id_ = recorder.AddPlan(TableOf(recorder, graph, executable));
}

void PlanProfile::FindTasks(const Executable& executable) {
  const Program& program = executable.program();
  const compile::Timeline& timeline = executable.model().planned.timeline;
  std::vector<int64_t> first(stream_of_.size(), -1);  // places of each node's steps
  std::vector<int64_t> last(stream_of_.size(), -1);
  std::vector<int64_t> count(steps_of_.size());
  for (const compile::Step& step : timeline.steps) {
    const size_t node = step.node.index();
    const int64_t place = count[static_cast<size_t>(stream_of_[node])]++;
    if (first[node] < 0) first[node] = place;
    last[node] = place;
  }
  for (const Task& task : program.tasks) {
    TaskSteps& steps = tasks_.emplace_back();
    if (!task.node.valid()) continue;
    const size_t node = task.node.index();
    steps.stream = stream_of_[node];
    steps.reached = (task.after_bodies ? last : first)[node];
  }
  for (const Program::Unit& unit : program.units) {
    if (unit.tasks.begin == unit.tasks.end || last[unit.node.index()] < 0) continue;
    tasks_[unit.tasks.end - 1].stream = stream_of_[unit.node.index()];
    tasks_[unit.tasks.end - 1].done = last[unit.node.index()] + 1;
  }
}

PlanTable PlanProfile::TableOf(profile::Recorder& recorder, const ProfiledGraph& graph,
                               const Executable& executable) {
  const compile::CompiledModel& model = executable.model();
  const auto& steps = model.planned.timeline.steps;
  PlanTable table;
  table.graph = graph.name;
  table.model = graph.model;
  table.graph_id = graph.id;
  table.planned = compile::FeatureMapPeak(model.planned).value();
  table.lower_bound =
      model.planned.plan.regions[model.planned.buffers.feature_map.index()].lower_bound.value();
  const auto owners = OwnersOf(model);
  for (const RunLife& life : lives_) {
    const auto owner = owners.find(life.buffer);
    const bool made = owner != owners.end() && owner->second.node.valid();
    const NodeId first = steps[static_cast<size_t>(life.begin)].node;
    const NodeId last = steps[static_cast<size_t>(life.end - 1)].node;
    PlanTable::Life row;
    row.value = recorder.Intern(owner != owners.end()
                                    ? owner->second.name
                                    : model.planned.buffers.problem.buffer(life.buffer).name);
    row.producer = static_cast<uint32_t>(made ? owner->second.node.index() : first.index());
    row.last_reader = static_cast<uint32_t>(last.index());
    // What no operator makes is called by its own name: an input that is copied.
    row.name = made ? node_names_[row.producer] : row.value;
    if (owner != owners.end()) row.kind = owner->second.kind;
    if (owner != owners.end() && owner->second.value.valid()) {
      const graph::ValueType& type = model.graph[owner->second.value].type;
      row.type = recorder.Intern(graph::Name(type.data_type));
      row.shape = recorder.Intern(type.shape ? Text(*type.shape) : "");
    }
    row.begin = life.begin;
    row.end = life.end;
    row.bytes = life.handed_out;
    row.offset = life.offset;
    life_names_.push_back(row.name);
    table.lives.push_back(row);
  }
  table.operators.resize(model.graph.nodes.size());
  for (const Task& task : executable.program().tasks) {
    if (task.kind != Task::Kind::kRun) continue;
    PlanTable::Operator& about = table.operators[task.node.index()];
    const OperatorWork work = WorkOf(model.graph, task.node);
    about.name = node_names_[task.node.index()];
    about.type = recorder.Intern(model.graph[task.node].op);
    about.kernel = recorder.Intern(task.kernel->implementation());
    const Bytes there = BytesInPlace(executable, task);
    about.read = std::max(work.read - there, Bytes(0)).value();
    about.written = std::max(work.written - there, Bytes(0)).value();
    about.operations = work.operations;
  }
  const std::vector<std::string> modules = ModulesOf(model.graph, model.planned.timeline);
  for (size_t i = 0; i < steps.size(); ++i) {
    table.operators[steps[i].node.index()].module = recorder.Intern(modules[i]);
  }
  return table;
}

}  // namespace plimsoll::engine
