#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/attribute.h"
#include "graph/content.h"
#include "graph/memory_attributes.h"
#include "graph/tensor.h"
#include "graph/value_type.h"
#include "plimsoll/base/ids.h"
#include "plimsoll/base/status.h"

namespace plimsoll::graph {

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
using ConstantId = Id<struct ConstantTag>;

// A tensor (or sequence, or optional) in the graph. Made by one node, by a constant, or by the
// caller (an input); read by any number of nodes.
struct Value {
  std::string name;
  ValueType type;      // computed by our rules, or given by the caller
  ValueType declared;  // what the file says of it; unknown where it says nothing
  std::optional<Content> content;
  NodeId producer;      // not valid for inputs and constants
  ConstantId constant;  // valid for constants
  SubgraphId home;      // the (sub)graph that defines it
};

struct Node {
  std::string name;
  std::string domain;  // "" is the ONNX standard
  std::string op;
  int version = 0;               // of the domain's operator set in the model
  std::vector<ValueId> inputs;   // not valid() where an optional input is left out
  std::vector<ValueId> outputs;  // likewise
  Attributes attributes;
  MemoryAttributes memory;
  SubgraphId home;
};

// A body: the whole model, or a branch or loop body inside a node. Its nodes are in an order in
// which every value is made before it is read. Values of outer bodies may be read directly.
struct Subgraph {
  std::string name;
  NodeId owner;  // the node that carries it; not valid for the root
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<NodeId> nodes;
  // Of a branch: why its shapes cannot be. A run that takes it fails with this.
  std::optional<Error> impossible = {};

  // Whether it is impossible and has no nodes and no outputs any more.
  bool dropped() const { return impossible && nodes.empty() && outputs.empty(); }
};

// A model as plain tables. Ids are indices and stay valid; nothing is ever removed from the tables,
// bodies simply stop naming what they no longer use.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ConstantTensor> constants;
  std::vector<Subgraph> subgraphs;                            // [0] is the root
  std::vector<std::pair<std::string, std::string>> metadata;  // of the model, in file order
  std::vector<std::pair<std::string, int>> opsets;            // domain, version
  int ir_version = 0;
  std::string producer;  // "pytorch 2.11"

  Value& operator[](ValueId id) { return values[id.index()]; }
  const Value& operator[](ValueId id) const { return values[id.index()]; }
  Node& operator[](NodeId id) { return nodes[id.index()]; }
  const Node& operator[](NodeId id) const { return nodes[id.index()]; }
  const ConstantTensor& operator[](ConstantId id) const { return constants[id.index()]; }
  Subgraph& operator[](SubgraphId id) { return subgraphs[id.index()]; }
  const Subgraph& operator[](SubgraphId id) const { return subgraphs[id.index()]; }

  static constexpr SubgraphId kRoot = SubgraphId(0);
  const Subgraph& root() const { return subgraphs[0]; }
};

// "Conv", or "aten::mul.Tensor" for a foreign domain.
std::string OperatorName(const Node& node);
// "node 12 'layer1/conv' (Conv)": how errors name a node.
std::string Describe(const Graph& graph, NodeId id);
// The subgraphs that a node carries, in attribute order.
std::vector<SubgraphId> SubgraphsOf(const Node& node);

}  // namespace plimsoll::graph
