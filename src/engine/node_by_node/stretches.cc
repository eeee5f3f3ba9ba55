#include "engine/node_by_node/stretches.h"

#include <algorithm>
#include <cstring>

#include "compile/bodies/loops.h"
#include "engine/transfer/staged_ports.h"

namespace plimsoll::engine {
namespace {

using graph::ValueId;
using kernels::HostTensor;
using kernels::HostValue;

bool IsEqual(const HostTensor& a, const HostTensor& b) {
  const auto size = static_cast<size_t>(b.size().value());
  return a.type == b.type && a.dims == b.dims &&
         (size == 0 || std::memcmp(a.data.get(), b.data.get(), size) == 0);
}

// Small numbers alone.
std::optional<graph::Content> ElementsOf(const HostValue& value) {
  const HostTensor& tensor = value.tensor;
  if (value.kind != HostValue::Kind::kTensor || tensor.type == graph::DataType::kString ||
      tensor.elements() == 0 || tensor.elements() > graph::kMaxContentElements) {
    return std::nullopt;
  }
  return graph::ContentOf(kernels::ToConstant(tensor));
}

Result<HostTensor> CopyOf(const HostTensor& tensor) {
  PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(tensor.type, tensor.dims));
  std::memcpy(copy.data.get(), tensor.data.get(), static_cast<size_t>(tensor.size().value()));
  return copy;
}

}  // namespace

bool Stretches::Place::Assumes(ValueId value) const {
  const auto found = changes.find(value);
  return found == changes.end() || found->second <= kFewChanges;
}

// So many pay for a change, but for none of a value that is assumed no more.
void Stretches::Place::CountHit() {
  constexpr int64_t kHitsOfAChange = 16;
  if (++hits % kHitsOfAChange != 0) return;
  for (auto& [value, count] : changes) {
    if (count > 0 && count <= kFewChanges) --count;
  }
}

void Stretches::Place::CountChanges(const std::vector<HostValue>& values) {
  const auto last = std::ranges::find_if(
      parts, [&](const Part& part) { return !part.assumed.empty() && part.FitsSizes(values); });
  if (last == parts.end()) return;
  for (size_t i = 0; i < last->assumed.size(); ++i) {
    const ValueId value = last->nodes.assumed[i];
    if (!IsEqual(last->assumed[i], values[value.index()].tensor)) ++changes[value];
  }
  const auto is_vain = [&](const Part& part) {
    return !std::ranges::all_of(part.nodes.assumed, [&](ValueId value) { return Assumes(value); });
  };
  if (parts.DropIf(is_vain) > 0) misses = 0;
}

void Stretches::CompilePart(const graph::Graph& graph, Part& part) const {
  part.met_again = true;
  std::vector<graph::ConstantTensor> assumed;
  for (const HostTensor& tensor : part.assumed) assumed.push_back(kernels::ToConstant(tensor));
  auto compiled = compile_(compile::CutStretch(graph, part.nodes, part.ports, assumed));
  if (!compiled.ok()) return;
  part.run.executable = *std::move(compiled);
  const graph::Graph& made = part.run.executable->model().graph;
  for (const ValueId output : made.root().outputs) {
    const graph::ValueType& type = made[output].type;
    part.outputs.push_back({type.data_type, StaticDims(*type.shape), nullptr});
  }
}

Stretches::Found Stretches::FoundAt(Part& part) {
  const size_t end = std::max(part.nodes.end, part.nodes.first + 1);
  return {part.run.executable == nullptr ? nullptr : &part, end};
}

Result<Stretches::Part> Stretches::MakePart(graph::Graph& graph, const Place& place,
                                            graph::SubgraphId body, size_t first,
                                            const std::vector<HostValue>& values) {
  Part part;
  part.nodes = compile::FindStretch(graph, body, first, [&](ValueId value) {
    return place.Assumes(value) ? ElementsOf(values[value.index()]) : std::nullopt;
  });
  part.ports = compile::PortsOfStretch(graph, part.nodes);
  part.met_again = part.nodes.end == first;
  for (const ValueId input : part.ports.inputs) {
    const HostTensor& now = values[input.index()].tensor;
    part.inputs.push_back({now.type, now.dims, nullptr});
  }
  for (const ValueId value : part.nodes.assumed) {
    PLIMSOLL_ASSIGN(HostTensor copy, CopyOf(values[value.index()].tensor));
    part.assumed.push_back(std::move(copy));
  }
  return part;
}

// A loop whose sizes grow comes through all of them in each run.
size_t Stretches::MostKept(const graph::Graph& graph, graph::SubgraphId body) const {
  constexpr size_t kOfALoop = 8;
  return std::max<size_t>(kept_, 1) * (compile::RunsRepeatedly(graph, body) ? kOfALoop : 1);
}

Result<Stretches::Found> Stretches::Find(graph::Graph& graph, graph::SubgraphId body, size_t first,
                                         const std::vector<HostValue>& values) {
  // Where sizes keep changing, one in so many is looked at.
  constexpr int64_t kMostMisses = 16;
  Place& place = places_[{body.index(), first}];
  StretchParts& known = place.parts;
  if (Part* const found = known.Find(values); found != nullptr) {
    place.misses = 0;
    place.CountHit();
    if (found->met_again) return FoundAt(*found);
    // What it makes has the types of another run by now.
    PLIMSOLL_ASSIGN(Part part, MakePart(graph, place, body, first, values));
    CompilePart(graph, part);
    known.DropFirst();
    return FoundAt(known.Add(std::move(part)));
  }
  ++place.misses;
  place.CountChanges(values);
  if (place.misses > kMostMisses && place.misses % kMostMisses != 0) {
    return Found{nullptr, FoundAt(known.front()).end};
  }
  PLIMSOLL_ASSIGN(Part part, MakePart(graph, place, body, first, values));
  const bool at_once =
      body == graph::Graph::kRoot && first == 0 && (known.empty() || part.assumed.empty());
  if (at_once && !part.met_again) CompilePart(graph, part);
  known.Add(std::move(part));
  if (known.size() > MostKept(graph, body)) known.DropLast();
  return FoundAt(known.front());
}

Status Stretches::TakeArena(Bytes size, const kernels::AllocateTensor& allocate) {
  if (arena_.data != nullptr && arena_.size() >= size) return {};
  arena_ = {};
  PLIMSOLL_ASSIGN(arena_, allocate(graph::DataType::kUint8, {size.value()}));
  return {};
}

Result<std::vector<HostTensor>> Stretches::Run(Part& part, const std::vector<HostValue>& values,
                                               const kernels::AllocateTensor& allocate,
                                               const std::atomic<bool>* cancelled) {
  const Executable& executable = *part.run.executable;
  PLIMSOLL_TRY(TakeArena(executable.program().total(), allocate));
  auto* const arena = static_cast<std::byte*>(arena_.data.get());
  if (part.run.arena != arena || part.run.addresses.operands.empty()) {
    part.run.addresses = executable.Bind(arena, AreasBehind(executable.program(), arena));
    part.run.arena = arena;
  }
  StagedPorts staged;
  std::vector<HostTensor> made;
  made.reserve(part.outputs.size());
  part.read.clear();
  part.written.clear();
  for (size_t i = 0; i < part.ports.inputs.size(); ++i) {
    const HostTensor& input = values[part.ports.inputs[i].index()].tensor;
    compile::PortUse use = executable.port_uses().inputs[i];
    PLIMSOLL_ASSIGN(void* const at, staged.Input(input.type, input.dims, input.data.get(), use));
    part.read.push_back(at);
  }
  for (const TensorView& output : part.outputs) {
    PLIMSOLL_ASSIGN(HostTensor tensor, allocate(output.type, output.dims));
    part.written.push_back(tensor.data.get());
    made.push_back(std::move(tensor));
  }
  PLIMSOLL_TRY(executable.Run(
      part.run.addresses,
      {.inputs = part.read, .outputs = part.written, .host_inputs = {}, .cancelled = cancelled}));
  return made;
}

void Stretches::AddTo(HeldWeights& weights) const {
  for (const auto& [node, place] : places_) {
    for (const Part& part : place.parts) {
      if (part.run.executable != nullptr) part.run.executable->AddTo(weights);
    }
  }
}

}  // namespace plimsoll::engine
