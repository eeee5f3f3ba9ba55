#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "compile/memory/storage/views.h"
#include "compile/memory/zero_copy.h"
#include "compile/passes/bodies.h"
#include "compile/passes/stable_values.h"
#include "compile/shapes/batch_labels.h"
#include "engine/run/program.h"
#include "engine/run/side_by_side.h"
#include "engine/transfer/input_transfer.h"

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
      : model_(model),
        graph_(model.graph),
        buffers_(model.planned.buffers),
        stable_(compile::FindStableValues(model.graph)) {
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
    const auto size_of = [&](plan::RegionId region) {
      return regions[region.index()].size.RoundUp(plan::kDefaultAlignment);
    };
    region_start_[buffers_.feature_map.index()] = {Place::Base::kArena, 0, 0};
    program_.arena = size_of(buffers_.feature_map);
    for (const PlannedBuffers::SeparateRegion& separate : buffers_.separate_regions) {
      const auto area = static_cast<int32_t>(program_.areas.size());
      region_start_[separate.region.index()] = {Place::Base::kArea, area, 0};
      program_.areas.push_back({.type = buffers_.problem.region(separate.region).memory_type,
                                .bytes = size_of(separate.region),
                                .stable = separate.stable,
                                .grows = separate.grows,
                                .key = separate.key});
    }
    for (const PlannedBuffers::GroupCopy& copy : buffers_.group_copies) {
      copies_[{copy.node, copy.input, copy.index}] = copy.buffer;
    }
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

  // Where the host reads the value; on a device out of its reach constants are there and here.
  Place HostPlaceOf(ValueId value) const {
    Place place = PlaceOf(value);
    const bool copied = place.base == Place::Base::kConstant && !target().host_reachable;
    if (copied) place.base = Place::Base::kHostConstant;
    return place;
  }

  bool IsHostMemory(const Place& place) const {
    return place.base == Place::Base::kArea &&
           program_.areas[static_cast<size_t>(place.index)].type == plan::MemoryType::kHost;
  }

  const compile::Target& target() const { return model_.plan_options.lifetimes.target; }

  uint32_t Operand(const Place& place) {
    program_.operands.push_back(place);
    return static_cast<uint32_t>(program_.operands.size()) - 1;
  }

  static bool IsSame(const Place& a, const Place& b) {
    return a.base == b.base && a.index == b.index && a.offset == b.offset;
  }

  void Add(Task task) {
    task.batch = batch_;
    const bool has_operands = task.kind != Task::Kind::kSkip && task.kind != Task::Kind::kFail;
    for (size_t i = task.first; has_operands && i < program_.operands.size(); ++i) {
      task.uses_host_memory = task.uses_host_memory || IsHostMemory(program_.operands[i]);
    }
    program_.tasks.push_back(task);
  }

  void Copy(const Place& from, const Place& to, Bytes bytes, NodeId node = {},
            bool after_bodies = false) {
    if (IsSame(from, to) || bytes == Bytes(0)) return;
    Task task{.kind = Task::Kind::kCopy, .node = node, .bytes = bytes.value()};
    task.after_bodies = after_bodies;
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

  // Whether kernels read an input elsewhere than where the caller has it.
  bool IsCopied(size_t index) const {
    const ValueId input = graph_.root().inputs[index];
    if (graph_[input].constant.valid()) return false;
    if (buffers_.buffer_of[input.index()].valid()) {
      return !IsSame(PlaceOf(input), {Place::Base::kInput, static_cast<int32_t>(index), 0});
    }
    // No buffer: nothing reads it, or it is empty, and then its readers decide.
    compile::JoinedStorage storage;
    storage.values = {input};
    return compile::PlannedSize(graph_[input].type) == Bytes(0) &&
           !compile::JudgeZeroCopy(graph_, stable_, storage, {}).allowed;
  }

  void CopyInputs() {
    const auto& inputs = graph_.root().inputs;
    std::vector<size_t> copied;
    std::vector<Bytes> sizes;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!IsCopied(i)) continue;
      copied.push_back(i);
      sizes.push_back(compile::PlannedSize(graph_[inputs[i]].type));
    }
    for (const InputTransfer& group : FuseInputs(sizes, model_.input_fusion_size)) {
      Task task{.kind = Task::Kind::kTransfer, .node = {}};
      task.first = static_cast<uint32_t>(program_.operands.size());
      task.target = static_cast<uint32_t>(program_.transfers.size());
      Transfer& transfer = program_.transfers.emplace_back();
      transfer.fused = group.fused;
      for (const size_t index : group.inputs) {
        Operand({Place::Base::kInput, static_cast<int32_t>(copied[index]), 0});
        Operand(PlaceOf(inputs[copied[index]]));
        transfer.sizes.push_back(sizes[index]);
        task.bytes += sizes[index].value();
      }
      Add(task);
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
      compile::IsLoop(node) ? RunLoop(id) : RunBranches(id);
      NoteStable(id);
      return;
    }
    if (compile::IsTransfer(node)) return CopyAcross(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) CopyIntoGroup(id, i);
    ClearOutputs(id);
    Task task{.kind = Task::Kind::kRun, .node = id};
    task.kernel = model_.kernels[id.index()].get();
    task.inputs = static_cast<uint16_t>(node.inputs.size());
    task.outputs = static_cast<uint16_t>(node.outputs.size());
    task.first = static_cast<uint32_t>(program_.operands.size());
    task.on_host = target().RunsOnHost(node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Operand(task.on_host ? HostPlaceOf(node.inputs[i]) : PlaceOf(id, true, i));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) Operand(OutputOf(id, i));
    Operand(PlaceOf(buffers_.workspace_of[id.index()], Bytes(0)));
    Add(task);
    for (size_t i = 0; i < node.outputs.size(); ++i) CopyOutOfGroup(id, i);
    NoteStable(id);
  }

  // A Transfer. What the host reads of an input comes from where the caller has that.
  void CopyAcross(NodeId id) {
    const ValueId from = graph_[id].inputs[0];
    const ValueId to = graph_[id].outputs[0];
    const Bytes bytes = compile::PlannedSize(graph_[to].type);
    const auto& inputs = graph_.root().inputs;
    const auto input = std::find(inputs.begin(), inputs.end(), from);
    if (input == inputs.end() || !target().RunsOnHost(graph_[id])) {
      return Copy(PlaceOf(from), PlaceOf(to), bytes, id);
    }
    if (bytes == Bytes(0)) return;
    const auto index = static_cast<int32_t>(input - inputs.begin());
    Task task{.kind = Task::Kind::kFetchInput, .node = id, .bytes = bytes.value()};
    task.target = static_cast<uint32_t>(index);
    task.first = Operand({Place::Base::kHostInput, index, 0});
    Operand(PlaceOf(to));
    Add(task);
  }

  // Where a node reads or writes an operand: in its group, or where the value lies.
  Place PlaceOf(NodeId id, bool input, size_t index) const {
    const auto copy = copies_.find({id, input, index});
    if (copy != copies_.end()) return PlaceOf(copy->second, Bytes(0));
    return PlaceOf((input ? graph_[id].inputs : graph_[id].outputs)[index]);
  }

  void CopyIntoGroup(NodeId id, size_t index) {
    if (!copies_.contains({id, true, index})) return;
    const ValueId value = graph_[id].inputs[index];
    Copy(PlaceOf(value), PlaceOf(id, true, index), compile::PlannedSize(graph_[value].type), id);
  }

  // Where a node finds what it makes as a part of what it reads, and has nothing to write: the
  // input's own place, or where it was copied to. Nothing for other outputs.
  std::optional<Place> PlaceInInput(NodeId id, ValueId value) const {
    const Node& node = graph_[id];
    if (!node.memory.reference_outputs.empty()) return std::nullopt;
    for (const compile::WindowOf& window : compile::WindowsOf(graph_, id)) {
      if (window.part != value) continue;
      const auto input = std::find(node.inputs.begin(), node.inputs.end(), window.whole);
      if (input == node.inputs.end()) continue;
      Place whole = PlaceOf(window.whole);
      whole.offset += window.offset.value();
      if (!IsSame(whole, PlaceOf(value))) continue;
      Place read = PlaceOf(id, true, static_cast<size_t>(input - node.inputs.begin()));
      read.offset += window.offset.value();
      return read;
    }
    return std::nullopt;
  }

  // Where a node writes an output.
  Place OutputOf(NodeId id, size_t index) const {
    if (copies_.contains({id, false, index})) return PlaceOf(id, false, index);
    return PlaceInInput(id, graph_[id].outputs[index]).value_or(PlaceOf(id, false, index));
  }

  void CopyOutOfGroup(NodeId id, size_t index) {
    if (!copies_.contains({id, false, index})) return;
    const ValueId value = graph_[id].outputs[index];
    if (PlaceInInput(id, value)) return;
    Copy(PlaceOf(id, false, index), PlaceOf(value), compile::PlannedSize(graph_[value].type), id);
  }

  void NoteStable(NodeId id) {
    const Node& node = graph_[id];
    const graph::MemoryAttributes& memory = node.memory;
    if (!memory.fixed_address && !memory.no_address_refresh) return;
    const auto note = [&](bool input, size_t index, ValueId value) {
      if (!value.valid() || graph_[value].constant.valid()) return;
      if (compile::PlannedSize(graph_[value].type) == Bytes(0)) return;
      program_.stable.push_back({compile::OperandKey(graph_, id, input, index), graph_[value].name,
                                 PlaceOf(id, input, index)});
    };
    for (size_t i = 0; i < node.outputs.size(); ++i) note(false, i, node.outputs[i]);
    if (!memory.no_address_refresh) return;
    for (size_t i = 0; i < node.inputs.size(); ++i) note(true, i, node.inputs[i]);
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
          buffer.valid() && !copies_.contains({id, false, index}) &&
          buffers_.problem.buffer(buffer).atomic_addr_clean_id != plan::kNoClearing;
      if (together) continue;
      Clear(id, PlaceOf(id, false, index), compile::PlannedSize(graph_[node.outputs[index]].type));
    }
  }

  // If: one body or the other, and its results where the node's outputs lie.
  void RunBranches(NodeId id) {
    const Node& node = graph_[id];
    const size_t choice = program_.tasks.size();
    Task skip_unless{.kind = Task::Kind::kSkipUnless, .node = id};
    skip_unless.first = Operand(HostPlaceOf(node.inputs[0]));
    Add(skip_unless);
    RunBody(id, node.attributes.Subgraph("then_branch"));
    const size_t over = program_.tasks.size();
    Add({.kind = Task::Kind::kSkip, .node = id, .after_bodies = true});
    program_.tasks[choice].target = static_cast<uint32_t>(program_.tasks.size());
    RunBody(id, node.attributes.Subgraph("else_branch"));
    program_.tasks[over].target = static_cast<uint32_t>(program_.tasks.size());
  }

  void RunBody(NodeId owner_id, SubgraphId body) {
    const Node& owner = graph_[owner_id];
    if (graph_[body].dropped()) {
      Task fail{.kind = Task::Kind::kFail, .node = owner_id};
      fail.target = static_cast<uint32_t>(body.index());
      return Add(fail);
    }
    for (const NodeId id : graph_[body].nodes) Run(id);
    for (size_t i = 0; i < owner.outputs.size(); ++i) {
      const ValueId result = graph_[body].outputs[i];
      if (!owner.outputs[i].valid() || !result.valid()) continue;
      Copy(PlaceOf(result), PlaceOf(owner.outputs[i]),
           compile::PlannedSize(graph_[owner.outputs[i]].type), owner_id, true);
    }
  }

  // Loop and Scan: what the body is given first, then the body with the way back to it, then what
  // the last iteration left.
  void RunLoop(NodeId id) {
    const compile::LoopParts parts = compile::PartsOfLoop(graph_, id);
    const auto size_of = [&](ValueId value) { return compile::PlannedSize(graph_[value].type); };
    for (const compile::CarriedValue& carried : parts.carried) {
      Copy(PlaceOf(carried.initial), PlaceOf(carried.input), size_of(carried.input), id);
    }
    const auto loop = static_cast<uint32_t>(program_.loops.size());
    program_.loops.emplace_back();
    if (parts.length) program_.loops[loop].length = *parts.length;
    Task begin{.kind = Task::Kind::kBeginLoop, .node = id};
    begin.target = loop;
    begin.inputs = 2;
    begin.first = Operand(HostPlaceOf(parts.trips));
    Operand(HostPlaceOf(parts.condition));
    Operand(PlaceOf(parts.number));
    Operand(PlaceOf(parts.running));
    Add(begin);
    program_.loops[loop].body = static_cast<uint32_t>(program_.tasks.size());
    for (const compile::WalkedValue& walked : parts.read) CopySlice(id, loop, walked, false);
    for (const NodeId inner : graph_[parts.body].nodes) Run(inner);
    for (const compile::WalkedValue& walked : parts.collected) CopySlice(id, loop, walked, true);
    if (parts.goes_on.valid()) {
      Task test{.kind = Task::Kind::kTestLoop, .node = id, .after_bodies = true};
      test.target = loop;
      test.first = Operand(HostPlaceOf(parts.goes_on));
      Add(test);
    }
    for (const compile::CarriedValue& carried : parts.carried) {
      Copy(PlaceOf(carried.result), PlaceOf(carried.input), size_of(carried.input), id, true);
    }
    Task next{.kind = Task::Kind::kNextLoop, .node = id, .after_bodies = true};
    next.target = loop;
    next.first = Operand(PlaceOf(parts.number));
    Add(next);
    program_.loops[loop].end = static_cast<uint32_t>(program_.tasks.size());
    for (const compile::CarriedValue& carried : parts.carried) {
      if (!carried.output.valid()) continue;
      Copy(PlaceOf(carried.input), PlaceOf(carried.output), size_of(carried.output), id, true);
    }
  }

  void CopySlice(NodeId id, uint32_t loop, const compile::WalkedValue& walked, bool collects) {
    if (!walked.whole.valid() || compile::PlannedSize(graph_[walked.slice].type) == Bytes(0)) {
      return;
    }
    Task task{.kind = Task::Kind::kCopySlice, .node = id, .after_bodies = collects};
    task.target = static_cast<uint32_t>(program_.slices.size());
    task.bytes = compile::PlannedSize(graph_[walked.slice].type).value();
    program_.slices.push_back({.loop = loop,
                               .layout = compile::LayoutOf(graph_, walked),
                               .collects = collects,
                               .backward = walked.backward});
    task.first = Operand(PlaceOf(collects ? walked.slice : walked.whole));
    Operand(PlaceOf(collects ? walked.whole : walked.slice));
    Add(task);
  }

  const compile::CompiledModel& model_;
  const Graph& graph_;
  const PlannedBuffers& buffers_;
  const compile::StableValues stable_;
  std::vector<Place> region_start_;                                    // by region
  std::map<std::tuple<NodeId, bool, size_t>, plan::BufferId> copies_;  // operands in a group
  std::map<plan::BufferId, Place> ports_;
  std::vector<size_t> variable_of_;  // by output: the input whose new value it is
  size_t first_update_ = kNoVariable;
  int32_t batch_ = kEveryBatch;  // of the tasks that are added
  Program program_;
};

}  // namespace

Program BuildProgram(const compile::CompiledModel& model) {
  Program program = Builder(model).Build();
  SetSideBySide(model, program);
  return program;
}

}  // namespace plimsoll::engine
