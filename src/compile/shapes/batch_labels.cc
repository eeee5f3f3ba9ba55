#include "compile/shapes/batch_labels.h"

#include <algorithm>

#include "compile/passes/bodies.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

Error RefuseLabels(std::string where, std::string why, std::string remedy) {
  return Error{.kind = ErrorKind::kBadFile,
               .code = "graph.batch",
               .what = "batch labels not accepted",
               .where = std::move(where),
               .why = std::move(why),
               .remedy = std::move(remedy)};
}

// A label, and where a node has it from.
struct Reason {
  std::string label;
  ValueId read;  // not valid: it is the node's own

  std::string Text(const Graph& graph) const {
    if (!read.valid()) return StrCat("it is labelled '", label, "'");
    return StrCat("it reads '", graph[read].name, "' of batch '", label, "'");
  }
};

Status LabelBodies(Graph& graph, NodeId owner) {
  const std::string label = graph[owner].memory.batch_label;
  for (const SubgraphId body : SubgraphsOf(graph[owner])) {
    for (const NodeId id : graph[body].nodes) {
      std::string& own = graph[id].memory.batch_label;
      if (!own.empty() && own != label) {
        return RefuseLabels(
            Describe(graph, id),
            StrCat("it is labelled '", own, "', and ", Describe(graph, owner), ", which runs it, ",
                   label.empty() ? "has no label" : StrCat("belongs to '", label, "'")),
            "label the node that carries the body, or leave its nodes without labels");
      }
      own = label;
      PLIMSOLL_TRY(LabelBodies(graph, id));
    }
  }
  return {};
}

Status LabelNode(Graph& graph, NodeId id) {
  Reason reason{graph[id].memory.batch_label, ValueId()};
  for (const ValueId read : ReadsOf(graph, id)) {
    const Reason other{BatchOf(graph, read), read};
    if (other.label.empty() || other.label == reason.label) continue;
    if (!reason.label.empty()) {
      return RefuseLabels(Describe(graph, id),
                          StrCat(reason.Text(graph), " and ", other.Text(graph).substr(3),
                                 ", and a run executes one batch alone"),
                          "let each batch have nodes and outputs of its own, or remove the labels");
    }
    reason = other;
  }
  graph[id].memory.batch_label = reason.label;
  return LabelBodies(graph, id);
}

}  // namespace

Status SpreadBatchLabels(Graph& graph, const std::vector<VariableUpdate>& updates) {
  if (BatchesOf(graph).empty()) return {};
  const std::vector<NodeId> nodes = graph.root().nodes;
  for (const NodeId id : nodes) PLIMSOLL_TRY(LabelNode(graph, id));
  for (const VariableUpdate& update : updates) {
    const ValueId output = graph.root().outputs[update.output];
    const std::string& batch = BatchOf(graph, output);
    if (batch.empty()) continue;
    return RefuseLabels(
        StrCat("output '", graph[output].name, "'"),
        StrCat("it is the new value of variable '", graph[graph.root().inputs[update.input]].name,
               "', and only batch '", batch, "' makes it"),
        "remove the labels of the nodes that it depends on");
  }
  return {};
}

std::vector<std::string> BatchesOf(const Graph& graph) {
  std::vector<std::string> batches;
  for (const Node& node : graph.nodes) {
    const std::string& label = node.memory.batch_label;
    if (label.empty() || !node.home.valid()) continue;
    if (std::find(batches.begin(), batches.end(), label) == batches.end()) batches.push_back(label);
  }
  return batches;
}

const std::string& BatchOf(const Graph& graph, ValueId value) {
  static const std::string every;
  const NodeId producer = graph[value].producer;
  return producer.valid() ? graph[producer].memory.batch_label : every;
}

std::string BatchOf(const Graph& graph, const JoinedStorage& storage) {
  const std::string& first = BatchOf(graph, storage.values[0]);
  const bool one = std::all_of(storage.values.begin(), storage.values.end(),
                               [&](ValueId value) { return BatchOf(graph, value) == first; });
  return one ? first : std::string();
}

}  // namespace plimsoll::compile
