#include "compile/rewriter.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

bool MayRewrite(const graph::Node& node) {
  return IsOrdinary(node.memory) && node.memory.stream == 0;
}

Rewriter::Rewriter(Graph& graph)
    : graph_(graph), readers_(graph.values.size()), output_(graph.values.size()) {
  const auto visit = [&](auto&& self, SubgraphId body) -> void {
    for (const NodeId node : graph_[body].nodes) {
      for (const ValueId input : graph_[node].inputs) {
        if (input.valid()) readers_[input.index()].push_back(node);
      }
      for (const SubgraphId inner : SubgraphsOf(graph_[node])) self(self, inner);
    }
    for (const ValueId output : graph_[body].outputs) {
      if (output.valid()) output_[output.index()] = true;
    }
  };
  visit(visit, Graph::kRoot);
}

void Rewriter::ForgetReader(ValueId value, NodeId node) {
  if (!value.valid()) return;
  std::vector<NodeId>& readers = readers_[value.index()];
  const auto found = std::find(readers.begin(), readers.end(), node);
  assert(found != readers.end());
  readers.erase(found);
}

void Rewriter::SetInputs(NodeId node, std::vector<ValueId> inputs) {
  for (const ValueId old : graph_[node].inputs) ForgetReader(old, node);
  graph_[node].inputs = std::move(inputs);
  for (const ValueId input : graph_[node].inputs) {
    if (input.valid()) readers_[input.index()].push_back(node);
  }
}

void Rewriter::SetInput(NodeId node, size_t index, ValueId value) {
  ForgetReader(graph_[node].inputs[index], node);
  graph_[node].inputs[index] = value;
  if (value.valid()) readers_[value.index()].push_back(node);
}

void Rewriter::ReplaceUses(ValueId from, ValueId to) {
  assert(!IsOutput(from));
  std::vector<NodeId> readers = std::move(readers_[from.index()]);
  readers_[from.index()].clear();
  for (const NodeId reader : readers) {
    std::vector<ValueId>& inputs = graph_[reader].inputs;
    *std::find(inputs.begin(), inputs.end(), from) = to;
    readers_[to.index()].push_back(reader);
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
  SetInputs(node, {});
  std::vector<NodeId>& nodes = graph_[graph_[node].home].nodes;
  nodes.erase(std::find(nodes.begin(), nodes.end(), node));
  graph_[node].home = SubgraphId();
}

void Rewriter::DropUnused(NodeId node) {
  if (!node.valid() || IsDropped(node) || !MayRewrite(graph_[node])) return;
  if (!SubgraphsOf(graph_[node]).empty()) return;
  for (const ValueId output : graph_[node].outputs) {
    if (output.valid() && (!readers(output).empty() || IsOutput(output))) return;
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
  readers_.emplace_back();
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
  std::vector<NodeId>& nodes = graph_[home].nodes;
  nodes.insert(std::find(nodes.begin(), nodes.end(), place), id);
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
