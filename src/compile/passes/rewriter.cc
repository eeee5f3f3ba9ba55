#include "compile/passes/rewriter.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

bool MayRewrite(const graph::Node& node) {
  return IsOrdinary(node.memory) && node.memory.stream == 0;
}

template <typename Visit>
void Rewriter::ForEachNode(SubgraphId body, const Visit& visit) const {
  for (const NodeId node : graph_[body].nodes) {
    visit(node);
    for (const SubgraphId inner : SubgraphsOf(graph_[node])) ForEachNode(inner, visit);
  }
}

Rewriter::Rewriter(Graph& graph)
    : graph_(graph),
      places_(graph.values.size()),
      output_(graph.values.size()),
      changed_(graph.subgraphs.size()) {
  const auto note_outputs = [&](SubgraphId body) {
    for (const ValueId output : graph_[body].outputs) {
      if (output.valid()) output_[output.index()] = true;
    }
  };
  note_outputs(Graph::kRoot);
  ForEachNode(Graph::kRoot, [&](NodeId node) {
    overwrites_ = overwrites_ || !graph_[node].memory.reference_outputs.empty();
    for (const ValueId input : graph_[node].inputs) {
      if (input.valid()) ++places_[input.index()];
    }
    for (const SubgraphId inner : SubgraphsOf(graph_[node])) note_outputs(inner);
  });
}

Rewriter::~Rewriter() {
  for (size_t i = 0; i < changed_.size(); ++i) BringUpToDate(SubgraphId(i));
}

void Rewriter::ListReaders() const {
  for (size_t i = 0; i < changed_.size(); ++i) BringUpToDate(SubgraphId(i));
  first_.assign(graph_.values.size() + 1, 0);
  for (size_t i = 0; i < places_.size(); ++i) first_[i + 1] = first_[i] + places_[i];
  readers_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  ForEachNode(Graph::kRoot, [&](NodeId node) {
    for (const ValueId input : graph_[node].inputs) {
      if (input.valid()) readers_[next[input.index()]++] = node;
    }
  });
}

std::vector<NodeId> Rewriter::readers(ValueId value) const {
  if (first_.empty()) ListReaders();
  std::vector<NodeId> ever;
  if (value.index() + 1 < first_.size()) {
    ever.assign(readers_.begin() + first_[value.index()],
                readers_.begin() + first_[value.index() + 1]);
  }
  if (const auto added = added_.find(value.index()); added != added_.end()) {
    ever.insert(ever.end(), added->second.begin(), added->second.end());
  }
  std::sort(ever.begin(), ever.end());
  ever.erase(std::unique(ever.begin(), ever.end()), ever.end());
  std::vector<NodeId> now;
  for (const NodeId node : ever) {
    const std::vector<ValueId>& inputs = graph_[node].inputs;
    now.insert(now.end(), static_cast<size_t>(std::count(inputs.begin(), inputs.end(), value)),
               node);
  }
  assert(now.size() == places_[value.index()]);
  return now;
}

bool Rewriter::IsOverwritten(ValueId value) const {
  if (!overwrites_ || !value.valid()) return false;
  for (const NodeId reader : readers(value)) {
    const graph::Node& node = graph_[reader];
    for (const auto& reference : node.memory.reference_outputs) {
      const auto input = static_cast<size_t>(reference.input);
      if (input < node.inputs.size() && node.inputs[input] == value) return true;
    }
  }
  return false;
}

void Rewriter::AddReader(ValueId value, NodeId node) {
  if (!value.valid()) return;
  ++places_[value.index()];
  if (!first_.empty()) added_[value.index()].push_back(node);
}

void Rewriter::ForgetReader(ValueId value) {
  if (!value.valid()) return;
  assert(places_[value.index()] > 0);
  --places_[value.index()];
}

void Rewriter::SetInputs(NodeId node, std::vector<ValueId> inputs) {
  for (const ValueId old : graph_[node].inputs) ForgetReader(old);
  graph_[node].inputs = std::move(inputs);
  for (const ValueId input : graph_[node].inputs) AddReader(input, node);
}

void Rewriter::SetInput(NodeId node, size_t index, ValueId value) {
  ForgetReader(graph_[node].inputs[index]);
  graph_[node].inputs[index] = value;
  AddReader(value, node);
}

void Rewriter::ReplaceUses(ValueId from, ValueId to) {
  assert(!IsOutput(from));
  const std::vector<NodeId> reading = readers(from);
  places_[from.index()] = 0;
  for (const NodeId reader : reading) {
    std::vector<ValueId>& inputs = graph_[reader].inputs;
    *std::find(inputs.begin(), inputs.end(), from) = to;
    AddReader(to, reader);
  }
}

bool Rewriter::StandIn(ValueId value, ValueId other) {
  if (!IsOutput(value)) {
    ReplaceUses(value, other);
    return true;
  }
  const NodeId producer = graph_[other].producer;
  if (!producer.valid() || IsOutput(other) || graph_[other].home != graph_[value].home ||
      !MayRewrite(graph_[producer])) {
    return false;
  }
  const NodeId old_producer = graph_[value].producer;
  std::vector<ValueId>& old_outputs = graph_[old_producer].outputs;
  std::replace(old_outputs.begin(), old_outputs.end(), value, ValueId());
  std::vector<ValueId>& outputs = graph_[producer].outputs;
  std::replace(outputs.begin(), outputs.end(), other, value);
  graph_[value].producer = producer;
  ReplaceUses(other, value);
  return true;
}

void Rewriter::Drop(NodeId node) {
  for (const SubgraphId body : SubgraphsOf(graph_[node])) {
    const std::vector<NodeId> inside = NodesOf(body);
    for (const NodeId inner : inside) Drop(inner);
  }
  SetInputs(node, {});
  changed_[graph_[node].home.index()] = true;
  graph_[node].home = SubgraphId();
}

void Rewriter::BringUpToDate(SubgraphId body) const {
  if (!changed_[body.index()]) return;
  std::vector<NodeId> nodes;
  for (const NodeId node : graph_[body].nodes) Append(node, nodes);
  graph_[body].nodes = std::move(nodes);
  changed_[body.index()] = false;
}

// The node, where it is still there, behind what was put before it.
void Rewriter::Append(NodeId node, std::vector<NodeId>& nodes) const {
  if (const auto before = inserted_.extract(node.index())) {
    for (const NodeId other : before.mapped()) Append(other, nodes);
  }
  if (!IsDropped(node)) nodes.push_back(node);
}

void Rewriter::DropUnused(NodeId node) {
  if (!node.valid() || IsDropped(node) || !MayRewrite(graph_[node])) return;
  if (!SubgraphsOf(graph_[node]).empty()) return;
  for (const ValueId output : graph_[node].outputs) {
    if (output.valid() && (ReaderCount(output) > 0 || IsOutput(output))) return;
  }
  const std::vector<ValueId> inputs = graph_[node].inputs;
  Drop(node);
  for (const ValueId input : inputs) {
    if (input.valid()) DropUnused(graph_[input].producer);
  }
}

ValueId Rewriter::AddValue(SubgraphId home, std::string name) {
  graph::Value value;
  value.name = std::move(name);
  value.home = home;
  graph_.values.push_back(std::move(value));
  places_.push_back(0);
  output_.push_back(false);
  return ValueId(graph_.values.size() - 1);
}

ValueId Rewriter::InsertBefore(NodeId place, graph::Node node) {
  const SubgraphId home = graph_[place].home;
  const ValueId output = AddValue(home, node.name);
  const NodeId id(graph_.nodes.size());
  std::vector<ValueId> inputs = std::move(node.inputs);
  node.inputs.clear();
  node.outputs = {output};
  node.home = home;
  graph_.nodes.push_back(std::move(node));
  graph_[output].producer = id;
  SetInputs(id, std::move(inputs));
  inserted_[place.index()].push_back(id);
  changed_[home.index()] = true;
  return output;
}

ValueId Rewriter::AddConstant(NodeId place, std::string name, graph::ConstantTensor tensor) {
  const ValueId value = AddValue(graph_[place].home, std::move(name));
  MakeConstant(value, std::move(tensor));
  return value;
}

ValueId Rewriter::AddInt64s(NodeId place, std::string name, std::vector<int64_t> elements) {
  auto storage = std::make_shared<std::vector<int64_t>>(std::move(elements));
  graph::ConstantTensor tensor;
  tensor.type = graph::DataType::kInt64;
  tensor.dims = {static_cast<int64_t>(storage->size())};
  tensor.bytes = std::as_bytes(std::span(*storage));
  tensor.storage = storage;
  return AddConstant(place, std::move(name), std::move(tensor));
}

void Rewriter::MakeConstant(ValueId id, graph::ConstantTensor tensor) {
  graph::Value& value = graph_[id];
  if (value.producer.valid()) {
    std::vector<ValueId>& outputs = graph_[value.producer].outputs;
    std::replace(outputs.begin(), outputs.end(), id, ValueId());
  }
  tensor.name = value.name;
  value.producer = NodeId();
  value.type = graph::ValueType::Tensor(tensor.type, graph::ShapeOf(tensor.dims));
  value.content = ContentOf(tensor);
  value.constant = graph::ConstantId(graph_.constants.size());
  graph_.constants.push_back(std::move(tensor));
}

}  // namespace plimsoll::compile
