#include "engine/node_by_node/stretches.h"

#include <algorithm>
#include <cstring>

#include "engine/transfer/staged_ports.h"

namespace plimsoll::engine {
namespace {

using graph::ValueId;
using kernels::HostTensor;
using kernels::HostValue;

bool HasType(const HostTensor& tensor, graph::DataType type, const kernels::Dims& dims) {
  return tensor.type == type && tensor.dims == dims;
}

bool IsEqual(const HostTensor& a, const HostTensor& b) {
  const auto size = static_cast<size_t>(b.size().value());
  return HasType(a, b.type, b.dims) &&
         (size == 0 || std::memcmp(a.data.get(), b.data.get(), size) == 0);
}

bool FitsSizes(const Stretches::Part& part, const std::vector<HostValue>& values) {
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    const HostTensor& now = values[part.ports.inputs[i].index()].tensor;
    if (!HasType(now, part.inputs[i].type, part.inputs[i].dims)) return false;
  }
  for (size_t i = 0; i < part.assumed.size(); ++i) {
    const HostTensor& now = values[part.nodes.assumed[i].index()].tensor;
    if (!HasType(now, part.assumed[i].type, part.assumed[i].dims)) return false;
  }
  return true;
}

bool Fits(const Stretches::Part& part, const std::vector<HostValue>& values) {
  for (size_t i = 0; i < part.assumed.size(); ++i) {
    const HostTensor& now = values[part.nodes.assumed[i].index()].tensor;
    if (!IsEqual(part.assumed[i], now)) return false;
  }
  return FitsSizes(part, values);
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
      parts, [&](const Part& part) { return !part.assumed.empty() && FitsSizes(part, values); });
  if (last == parts.end()) return;
  for (size_t i = 0; i < last->assumed.size(); ++i) {
    const ValueId value = last->nodes.assumed[i];
    if (!IsEqual(last->assumed[i], values[value.index()].tensor)) ++changes[value];
  }
  const auto is_vain = [&](const Part& part) {
    return !std::ranges::all_of(part.nodes.assumed, [&](ValueId value) { return Assumes(value); });
  };
  if (parts.remove_if(is_vain) > 0) misses = 0;
}

void Stretches::CompilePart(const graph::Graph& graph, Part& part) const {
  part.met_again = true;
  std::vector<graph::ConstantTensor> assumed;
  for (const HostTensor& tensor : part.assumed) assumed.push_back(kernels::ToConstant(tensor));
  auto compiled = compile_(compile::CutStretch(graph, part.nodes, part.ports, assumed));
  if (compiled.ok()) part.run.executable = *std::move(compiled);
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

Result<Stretches::Found> Stretches::Find(graph::Graph& graph, graph::SubgraphId body, size_t first,
                                         const std::vector<HostValue>& values) {
  // Where sizes keep changing, one in so many is looked at.
  constexpr int64_t kMostMisses = 16;
  Place& place = places_[{body.index(), first}];
  std::list<Part>& known = place.parts;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Part& part) { return Fits(part, values); });
  if (found != known.end()) {
    place.misses = 0;
    place.CountHit();
    known.splice(known.begin(), known, found);
    Part& part = known.front();
    if (!part.met_again) {
      // What it makes has the types of another run by now.
      PLIMSOLL_ASSIGN(part, MakePart(graph, place, body, first, values));
      CompilePart(graph, part);
    }
    return FoundAt(part);
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
