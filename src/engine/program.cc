#include "engine/program.h"

#include <algorithm>
#include <limits>
#include <map>

#include "compile/batch_labels.h"
#include "compile/bodies.h"

namespace plimsoll::engine {
namespace {

using compile::PlannedBuffers;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

class Builder {
 public:
  explicit Builder(const compile::CompiledModel& model)
      : model_(model), graph_(model.graph), buffers_(model.planned.buffers) {
    LayOutRegions();
    program_.batches = compile::BatchesOf(graph_);
    const auto& root = graph_.root();
    variable_of_.assign(root.outputs.size(), kNoVariable);
    for (const compile::PlannedUpdate& update : model.planned.updates) {
      variable_of_[update.ports.output] = update.ports.input;
    }
    for (size_t i = 0; i < root.inputs.size(); ++i) AddPort(root.inputs[i], Place::Base::kInput, i);
    for (size_t i = 0; i < root.outputs.size(); ++i) {
      if (variable_of_[i] == kNoVariable) AddPort(root.outputs[i], Place::Base::kOutput, i);
    }
  }

  Program Build() {
    ClearAreas();
    CopyInputs();
    for (const NodeId id : model_.planned.order) {
      batch_ = program_.BatchNamed(graph_[id].memory.batch_label);
      const auto begin = static_cast<uint32_t>(program_.tasks.size());
      Run(id);
      program_.units.push_back({id, {begin, static_cast<uint32_t>(program_.tasks.size())}});
    }
    CopyOutputs();
    batch_ = kEveryBatch;
    CopyNewValues();
    program_.first_update = first_update_;
    return std::move(program_);
  }

 private:
  static constexpr size_t kNoVariable = std::numeric_limits<size_t>::max();

  void LayOutRegions() {
    const auto& regions = model_.planned.plan.regions;
    region_start_.assign(regions.size(), {});
    const auto add = [&](plan::RegionId region, Place::Base base, Bytes& size) {
      if (!region.valid()) return;
      region_start_[region.index()] = {base, 0, size.value()};
      size += regions[region.index()].size.RoundUp(plan::kDefaultAlignment);
    };
    add(buffers_.feature_map, Place::Base::kArena, program_.arena);
    add(buffers_.fixed, Place::Base::kBeside, program_.beside);
    add(buffers_.p2p, Place::Base::kBeside, program_.beside);
    add(buffers_.host, Place::Base::kBeside, program_.beside);
  }

  void AddPort(ValueId value, Place::Base base, size_t index) {
    const plan::BufferId buffer = buffers_.buffer_of[value.index()];
    if (!buffer.valid() || graph_[value].constant.valid()) return;
    if (buffers_.problem.buffer(buffer).region != buffers_.zero_copy) return;
    ports_.emplace(buffer, Place{base, static_cast<int32_t>(index), 0});
  }

  Place PlaceOf(plan::BufferId buffer, Bytes offset) const {
    if (!buffer.valid()) return {};
    if (const auto port = ports_.find(buffer); port != ports_.end()) {
      Place place = port->second;
      place.offset = offset.value();
      return place;
    }
    const plan::RegionId region = buffers_.problem.buffer(buffer).region;
    const int64_t at = model_.planned.plan.offsets[buffer.index()].value() + offset.value();
    for (const PlannedBuffers::Lent& lent : buffers_.lent) {
      if (lent.region != region) continue;
      const bool input = lent.home == compile::Home::kInput;
      return {input ? Place::Base::kInput : Place::Base::kOutput, lent.port, at};
    }
    Place place = region_start_[region.index()];
    place.offset += at;
    return place;
  }

  Place PlaceOf(ValueId value) const {
    if (!value.valid()) return {};
    if (graph_[value].constant.valid()) {
      return {Place::Base::kConstant, static_cast<int32_t>(value.index()), 0};
    }
    return PlaceOf(buffers_.buffer_of[value.index()], buffers_.offset_in_buffer[value.index()]);
  }

  uint32_t Operand(const Place& place) {
    program_.operands.push_back(place);
    return static_cast<uint32_t>(program_.operands.size()) - 1;
  }

  void Add(Task task) {
    task.batch = batch_;
    program_.tasks.push_back(task);
  }

  void Copy(const Place& from, const Place& to, Bytes bytes) {
    const bool same = from.base == to.base && from.index == to.index && from.offset == to.offset;
    if (same || bytes == Bytes(0)) return;
    Task task{.kind = Task::Kind::kCopy, .node = {}, .bytes = bytes.value()};
    task.first = Operand(from);
    Operand(to);
    Add(task);
  }

  void Clear(NodeId node, const Place& place, Bytes bytes) {
    Task task{.kind = Task::Kind::kClear, .node = node, .bytes = bytes.value()};
    task.first = Operand(place);
    Add(task);
  }

  void ClearAreas() {
    for (const plan::ClearingArea& area : model_.planned.plan.clearing_areas) {
      Place place = region_start_[area.region.index()];
      place.offset += area.offset.value();
      Clear({}, place, area.size);
    }
  }

  void CopyInputs() {
    const auto& inputs = graph_.root().inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (graph_[inputs[i]].constant.valid() || !buffers_.buffer_of[inputs[i].index()].valid()) {
        continue;
      }
      Copy({Place::Base::kInput, static_cast<int32_t>(i), 0}, PlaceOf(inputs[i]),
           compile::PlannedSize(graph_[inputs[i]].type));
    }
  }

  void CopyOutputs() {
    const auto& outputs = graph_.root().outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (variable_of_[i] != kNoVariable) continue;
      batch_ = program_.BatchNamed(compile::BatchOf(graph_, outputs[i]));
      Copy(PlaceOf(outputs[i]), {Place::Base::kOutput, static_cast<int32_t>(i), 0},
           compile::PlannedSize(graph_[outputs[i]].type));
    }
  }

  // After the caller's outputs, which may be old values. One that was written in place is there.
  void CopyNewValues() {
    first_update_ = std::min(first_update_, program_.tasks.size());
    for (const compile::PlannedUpdate& update : model_.planned.updates) {
      Copy(PlaceOf(graph_.root().outputs[update.ports.output]),
           {Place::Base::kInput, static_cast<int32_t>(update.ports.input), 0}, update.bytes);
    }
  }

  void Run(NodeId id) {
    const Node& node = graph_[id];
    NoteUpdate(node);
    if (!SubgraphsOf(node).empty()) {
      RunBranches(id);
      return;
    }
    ClearOutputs(id);
    Task task{.kind = Task::Kind::kRun, .node = id};
    task.kernel = model_.kernels[id.index()].get();
    task.inputs = static_cast<uint16_t>(node.inputs.size());
    task.outputs = static_cast<uint16_t>(node.outputs.size());
    task.first = static_cast<uint32_t>(program_.operands.size());
    for (const ValueId input : node.inputs) Operand(PlaceOf(input));
    for (const ValueId output : node.outputs) Operand(PlaceOf(output));
    Operand(PlaceOf(buffers_.workspace_of[id.index()], Bytes(0)));
    Add(task);
  }

  void NoteUpdate(const Node& node) {
    const bool overwrites =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
          return output.valid() && model_.planned.overwrites[output.index()];
        });
    if (overwrites) first_update_ = std::min(first_update_, program_.tasks.size());
  }

  // Outputs that must be zero first and lie in no area that was cleared at once.
  void ClearOutputs(NodeId id) {
    const Node& node = graph_[id];
    for (const int output : node.memory.needs_clearing) {
      const auto index = static_cast<size_t>(output);
      if (index >= node.outputs.size() || !node.outputs[index].valid()) continue;
      const plan::BufferId buffer = buffers_.buffer_of[node.outputs[index].index()];
      const bool together =
          buffer.valid() &&
          buffers_.problem.buffer(buffer).atomic_addr_clean_id != plan::kNoClearing;
      if (together) continue;
      Clear(id, PlaceOf(node.outputs[index]),
            compile::PlannedSize(graph_[node.outputs[index]].type));
    }
  }

  // If: one body or the other, and its results where the node's outputs lie.
  void RunBranches(NodeId id) {
    const Node& node = graph_[id];
    const size_t choice = program_.tasks.size();
    Task skip_unless{.kind = Task::Kind::kSkipUnless, .node = id};
    skip_unless.first = Operand(PlaceOf(node.inputs[0]));
    Add(skip_unless);
    RunBody(node, node.attributes.Subgraph("then_branch"));
    const size_t over = program_.tasks.size();
    Add({.kind = Task::Kind::kSkip, .node = id});
    program_.tasks[choice].target = static_cast<uint32_t>(program_.tasks.size());
    RunBody(node, node.attributes.Subgraph("else_branch"));
    program_.tasks[over].target = static_cast<uint32_t>(program_.tasks.size());
  }

  void RunBody(const Node& owner, SubgraphId body) {
    for (const NodeId id : graph_[body].nodes) Run(id);
    for (size_t i = 0; i < owner.outputs.size(); ++i) {
      const ValueId result = graph_[body].outputs[i];
      if (!owner.outputs[i].valid() || !result.valid()) continue;
      Copy(PlaceOf(result), PlaceOf(owner.outputs[i]),
           compile::PlannedSize(graph_[owner.outputs[i]].type));
    }
  }

  const compile::CompiledModel& model_;
  const Graph& graph_;
  const PlannedBuffers& buffers_;
  std::vector<Place> region_start_;  // by region
  std::map<plan::BufferId, Place> ports_;
  std::vector<size_t> variable_of_;  // by output: the input whose new value it is
  size_t first_update_ = kNoVariable;
  int32_t batch_ = kEveryBatch;  // of the tasks that are added
  Program program_;
};

}  // namespace

Program::Range Program::Prologue() const {
  return units.empty() ? AllTasks() : Range{0, units.front().tasks.begin};
}

Program::Range Program::Epilogue() const {
  const auto end = static_cast<uint32_t>(tasks.size());
  return units.empty() ? Range{end, end} : Range{units.back().tasks.end, end};
}

int32_t Program::BatchNamed(std::string_view name) const {
  const auto found = std::find(batches.begin(), batches.end(), name);
  return found == batches.end() ? kEveryBatch : static_cast<int32_t>(found - batches.begin());
}

Program BuildProgram(const compile::CompiledModel& model) { return Builder(model).Build(); }

}  // namespace plimsoll::engine
