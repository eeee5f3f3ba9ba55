#include "compile/passes/compact.h"

#include <vector>

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// One table's new ids by old ones. Ids are handed out in the order of the old table.
template <typename SomeId>
class Renumbering {
 public:
  explicit Renumbering(size_t size) : ids_(size) {}

  void Keep(SomeId id) {
    if (id.valid()) ids_[id.index()] = SomeId(0);
  }
  bool Keeps(size_t index) const { return ids_[index].valid(); }
  // Gives how many are kept.
  size_t Number() {
    size_t next = 0;
    for (SomeId& id : ids_) {
      if (id.valid()) id = SomeId(next++);
    }
    return next;
  }
  SomeId operator[](SomeId old) const { return old.valid() ? ids_[old.index()] : SomeId(); }

 private:
  std::vector<SomeId> ids_;
};

class Compaction {
 public:
  explicit Compaction(const Graph& from)
      : from_(from),
        values_(from.values.size()),
        nodes_(from.nodes.size()),
        constants_(from.constants.size()),
        bodies_(from.subgraphs.size()) {}

  Graph Run() {
    KeepBody(Graph::kRoot);
    for (size_t i = 0; i < from_.values.size(); ++i) {
      if (values_.Keeps(i)) constants_.Keep(from_.values[i].constant);
    }
    Graph to;
    to.values.reserve(values_.Number());
    to.nodes.reserve(nodes_.Number());
    to.constants.reserve(constants_.Number());
    to.subgraphs.reserve(bodies_.Number());
    to.metadata = from_.metadata;
    to.opsets = from_.opsets;
    to.ir_version = from_.ir_version;
    to.producer = from_.producer;
    CopyTables(to);
    return to;
  }

 private:
  void KeepBody(SubgraphId id) {
    bodies_.Keep(id);
    const graph::Subgraph& body = from_[id];
    for (const ValueId value : body.inputs) values_.Keep(value);
    for (const ValueId value : body.outputs) values_.Keep(value);
    for (const NodeId node : body.nodes) {
      nodes_.Keep(node);
      for (const ValueId value : from_[node].inputs) values_.Keep(value);
      for (const ValueId value : from_[node].outputs) values_.Keep(value);
      for (const SubgraphId inner : SubgraphsOf(from_[node])) KeepBody(inner);
    }
  }

  template <typename Ids, typename Table>
  static void Renumber(Ids& ids, const Table& table) {
    for (auto& id : ids) id = table[id];
  }

  void CopyTables(Graph& to) const {
    for (size_t i = 0; i < from_.values.size(); ++i) {
      if (!values_.Keeps(i)) continue;
      graph::Value& value = to.values.emplace_back(from_.values[i]);
      value.producer = nodes_[value.producer];
      value.constant = constants_[value.constant];
      // What a body that is gone defined, and somebody still reads, is a constant: it moves out.
      value.home = HomeOf(value.home);
    }
    for (size_t i = 0; i < from_.nodes.size(); ++i) {
      if (nodes_.Keeps(i)) to.nodes.push_back(CopyNode(from_.nodes[i]));
    }
    for (size_t i = 0; i < from_.constants.size(); ++i) {
      if (constants_.Keeps(i)) to.constants.push_back(from_.constants[i]);
    }
    for (size_t i = 0; i < from_.subgraphs.size(); ++i) {
      if (!bodies_.Keeps(i)) continue;
      graph::Subgraph& body = to.subgraphs.emplace_back(from_.subgraphs[i]);
      body.owner = nodes_[body.owner];
      Renumber(body.inputs, values_);
      Renumber(body.outputs, values_);
      Renumber(body.nodes, nodes_);
    }
  }

  SubgraphId HomeOf(SubgraphId home) const {
    const SubgraphId kept = bodies_[home];
    return kept.valid() ? kept : Graph::kRoot;
  }

  graph::Node CopyNode(graph::Node node) const {
    Renumber(node.inputs, values_);
    Renumber(node.outputs, values_);
    node.home = bodies_[node.home];
    for (auto& [name, attribute] : node.attributes) {
      if (auto* one = std::get_if<SubgraphId>(&attribute)) *one = bodies_[*one];
      if (auto* many = std::get_if<std::vector<SubgraphId>>(&attribute)) Renumber(*many, bodies_);
    }
    return node;
  }

  const Graph& from_;
  Renumbering<ValueId> values_;
  Renumbering<NodeId> nodes_;
  Renumbering<graph::ConstantId> constants_;
  Renumbering<SubgraphId> bodies_;
};

}  // namespace

Graph Compact(const Graph& graph) { return Compaction(graph).Run(); }

}  // namespace plimsoll::compile
