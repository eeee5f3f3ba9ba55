#include "engine/node_by_node/stretches.h"

#include <algorithm>

#include "engine/transfer/staged_ports.h"

namespace plimsoll::engine {
namespace {

using graph::ValueId;
using kernels::HostTensor;
using kernels::HostValue;

bool Fits(const Stretches::Part& part, const std::vector<HostValue>& values) {
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    const HostTensor& now = values[part.ports.inputs[i].index()].tensor;
    if (now.type != part.inputs[i].type || now.dims != part.inputs[i].dims) return false;
  }
  return true;
}

}  // namespace

void Stretches::CompilePart(const graph::Graph& graph, Part& part) const {
  part.met_again = true;
  auto compiled = compile_(compile::CutStretch(graph, part.nodes, part.ports));
  if (compiled.ok()) part.run.executable = *std::move(compiled);
}

Stretches::Found Stretches::FoundAt(Part& part) {
  const size_t end = std::max(part.nodes.end, part.nodes.first + 1);
  return {part.run.executable == nullptr ? nullptr : &part, end};
}

Stretches::Found Stretches::Find(graph::Graph& graph, graph::SubgraphId body, size_t first,
                                 const std::vector<HostValue>& values) {
  // Where sizes keep changing, one in so many is looked at.
  constexpr int64_t kMostMisses = 16;
  Place& place = places_[{body.index(), first}];
  std::list<Part>& known = place.parts;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Part& part) { return Fits(part, values); });
  if (found != known.end()) {
    place.misses = 0;
    known.splice(known.begin(), known, found);
    Part& part = known.front();
    if (!part.met_again) {
      // What it makes has the types of another run by now.
      part.nodes = compile::FindStretch(graph, body, first);
      CompilePart(graph, part);
    }
    return FoundAt(part);
  }
  ++place.misses;
  if (place.misses > kMostMisses && place.misses % kMostMisses != 0) {
    return {nullptr, FoundAt(known.front()).end};
  }
  Part part;
  part.nodes = compile::FindStretch(graph, body, first);
  part.ports = compile::PortsOfStretch(graph, part.nodes);
  part.met_again = part.nodes.end == first;
  for (const ValueId input : part.ports.inputs) {
    const HostTensor& now = values[input.index()].tensor;
    part.inputs.push_back({now.type, now.dims, nullptr});
  }
  const bool at_once = body == graph::Graph::kRoot && first == 0;
  if (at_once && !part.met_again) CompilePart(graph, part);
  known.push_front(std::move(part));
  if (known.size() > std::max<size_t>(kept_, 1)) known.pop_back();
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
  const graph::Graph& graph = executable.model().graph;
  PLIMSOLL_TRY(TakeArena(executable.program().total(), allocate));
  auto* const arena = static_cast<std::byte*>(arena_.data.get());
  if (part.run.arena != arena || part.run.addresses.operands.empty()) {
    part.run.addresses = executable.Bind(arena, AreasBehind(executable.program(), arena));
    part.run.arena = arena;
  }
  StagedPorts staged;
  compile::PortUses uses = executable.port_uses();
  std::vector<const void*> read;
  std::vector<void*> written;
  std::vector<HostTensor> made;
  for (size_t i = 0; i < part.ports.inputs.size(); ++i) {
    const HostTensor& input = values[part.ports.inputs[i].index()].tensor;
    PLIMSOLL_ASSIGN(void* const at,
                    staged.Input(input.type, input.dims, input.data.get(), uses.inputs[i]));
    read.push_back(at);
  }
  for (const ValueId output : graph.root().outputs) {
    const graph::ValueType& type = graph[output].type;
    PLIMSOLL_ASSIGN(HostTensor tensor, allocate(type.data_type, StaticDims(*type.shape)));
    written.push_back(tensor.data.get());
    made.push_back(std::move(tensor));
  }
  PLIMSOLL_TRY(executable.Run(
      part.run.addresses,
      {.inputs = read, .outputs = written, .host_inputs = {}, .cancelled = cancelled}));
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
