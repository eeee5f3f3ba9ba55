#include "compile/passes/stable_values.h"

#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Passes leave nodes with memory attributes alone, so that what they make keeps its name.
std::string NameOf(const Graph& graph, const Node& node) {
  for (const ValueId output : node.outputs) {
    if (output.valid()) return graph[output].name;
  }
  return node.name;
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {
    found_.keys.resize(graph.values.size());
    found_.demanded_by.resize(graph.values.size());
  }

  StableValues Find() {
    for (const graph::Subgraph& body : graph_.subgraphs) {
      for (const NodeId id : body.nodes) Visit(id);
    }
    while (SpreadOverReferences()) {
    }
    return std::move(found_);
  }

 private:
  void Visit(NodeId id) {
    const Node& node = graph_[id];
    if (!node.memory.fixed_address && !node.memory.no_address_refresh) return;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Mark(node.outputs[i], OperandKey(graph_, id, false, i), id);
    }
    if (!node.memory.no_address_refresh) return;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Mark(node.inputs[i], OperandKey(graph_, id, true, i), id);
    }
  }

  // The least key counts, since the order in which nodes are met may differ between shapes.
  void Mark(ValueId value, const std::string& key, NodeId node) {
    if (!value.valid() || graph_[value].constant.valid()) return;
    std::string& known = found_.keys[value.index()];
    if (!known.empty() && known <= key) return;
    known = key;
    found_.demanded_by[value.index()] = node;
  }

  bool SpreadOverReferences() {
    bool changed = false;
    for (const graph::Subgraph& body : graph_.subgraphs) {
      for (const NodeId id : body.nodes) {
        const Node& node = graph_[id];
        for (const auto& reference : node.memory.reference_outputs) {
          const auto output = static_cast<size_t>(reference.output);
          const auto input = static_cast<size_t>(reference.input);
          if (output >= node.outputs.size() || input >= node.inputs.size()) continue;
          changed |= Share(node.outputs[output], node.inputs[input]);
        }
      }
    }
    return changed;
  }

  bool Share(ValueId a, ValueId b) {
    if (!a.valid() || !b.valid() || graph_[b].constant.valid()) return false;
    const bool has_a = found_.Contains(a);
    if (has_a == found_.Contains(b)) return false;
    const ValueId from = has_a ? a : b;
    Mark(has_a ? b : a, found_.keys[from.index()], found_.demanded_by[from.index()]);
    return true;
  }

  const Graph& graph_;
  StableValues found_;
};

}  // namespace

std::string OperandKey(const Graph& graph, NodeId node, bool input, size_t index) {
  return StrCat(NameOf(graph, graph[node]), input ? " input " : " output ", index);
}

StableValues FindStableValues(const Graph& graph) { return Finder(graph).Find(); }

}  // namespace plimsoll::compile
