#include "graph/builder.h"

#include <cstring>

#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph {

GraphBuilder::GraphBuilder(int opset) : open_{Graph::kRoot}, opset_(opset) {
  graph_.subgraphs.push_back({});
  graph_.opsets = {{"", opset}};
}

ValueId GraphBuilder::AddValue(std::string name, ValueType type) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.home = open_.back();
  graph_.values.push_back(std::move(value));
  return ValueId(graph_.values.size() - 1);
}

ValueId GraphBuilder::AddConstant(std::string name, DataType type, std::vector<int64_t> dims,
                                  const void* data, size_t size) {
  auto storage = std::make_shared<std::vector<std::byte>>(size);
  if (size > 0) std::memcpy(storage->data(), data, size);
  ConstantTensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.dims = std::move(dims);
  tensor.bytes = *storage;
  tensor.storage = storage;
  const ValueId id = AddValue(std::move(name), ValueType::Tensor(type, ShapeOf(tensor.dims)));
  graph_[id].content = ContentOf(tensor);
  graph_[id].constant = ConstantId(graph_.constants.size());
  graph_.constants.push_back(std::move(tensor));
  return id;
}

ValueId GraphBuilder::Input(std::string name, ValueType type) {
  const ValueId id = AddValue(std::move(name), std::move(type));
  graph_[id].declared = graph_[id].type;
  graph_.subgraphs[0].inputs.push_back(id);
  return id;
}

ValueId GraphBuilder::Int64s(std::string name, const std::vector<int64_t>& elements) {
  return AddConstant(std::move(name), DataType::kInt64, {static_cast<int64_t>(elements.size())},
                     elements.data(), elements.size() * sizeof(int64_t));
}

ValueId GraphBuilder::Int64(std::string name, int64_t element) {
  return AddConstant(std::move(name), DataType::kInt64, {}, &element, sizeof(element));
}

ValueId GraphBuilder::Float32s(std::string name, std::vector<int64_t> dims,
                               const std::vector<float>& elements) {
  return AddConstant(std::move(name), DataType::kFloat32, std::move(dims), elements.data(),
                     elements.size() * sizeof(float));
}

ValueId GraphBuilder::Node(std::string op, std::vector<ValueId> inputs, Attributes attributes) {
  return Nodes(std::move(op), std::move(inputs), 1, std::move(attributes))[0];
}

std::vector<ValueId> GraphBuilder::Nodes(std::string op, std::vector<ValueId> inputs,
                                         size_t outputs, Attributes attributes,
                                         std::string domain) {
  const NodeId id(graph_.nodes.size());
  graph::Node node;
  node.name = StrCat(op, "_", id.index());
  node.domain = std::move(domain);
  node.op = std::move(op);
  node.version = opset_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.home = open_.back();
  for (size_t i = 0; i < outputs; ++i) {
    const ValueId value = AddValue(outputs == 1 ? node.name : StrCat(node.name, ".", i), {});
    graph_[value].producer = id;
    node.outputs.push_back(value);
  }
  for (const SubgraphId body : SubgraphsOf(node)) graph_[body].owner = id;
  const OperatorRow* row = FindOperator(node.domain, node.op, node.version);
  if (row != nullptr && row->facts.memory != nullptr) row->facts.memory(node, node.memory);
  graph_.nodes.push_back(std::move(node));
  graph_[open_.back()].nodes.push_back(id);
  return graph_[id].outputs;
}

void GraphBuilder::Output(ValueId value) { graph_.subgraphs[0].outputs.push_back(value); }

SubgraphId GraphBuilder::BeginBody(std::string name) {
  const SubgraphId id(graph_.subgraphs.size());
  graph_.subgraphs.push_back({std::move(name), {}, {}, {}, {}});
  open_.push_back(id);
  return id;
}

ValueId GraphBuilder::BodyInput(std::string name, ValueType type) {
  const ValueId id = AddValue(std::move(name), std::move(type));
  graph_[open_.back()].inputs.push_back(id);
  return id;
}

void GraphBuilder::EndBody(std::vector<ValueId> outputs) {
  graph_[open_.back()].outputs = std::move(outputs);
  open_.pop_back();
}

}  // namespace plimsoll::graph
