#include "compile/plannable.h"

#include "compile/bodies/loops.h"
#include "compile/passes/bodies.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueType;

bool IsPlainTensor(const ValueType& type) {
  return type.is_tensor() && type.data_type != DataType::kString && type.shape &&
         graph::IsStatic(*type.shape);
}

std::optional<std::string> WhyNotPlannableItself(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const ValueId value : *values) {
      if (!value.valid() || IsPlainTensor(graph[value].type)) continue;
      return StrCat("'", graph[value].name, "' at ", Describe(graph, id), " is ",
                    Text(graph[value].type));
    }
  }
  return SubgraphsOf(node).empty() ? std::nullopt : WhyNotInPlan(graph, id);
}

std::optional<std::string> WhyNoPlainPorts(const Graph& graph, const graph::Subgraph& body) {
  for (const auto* values : {&body.inputs, &body.outputs}) {
    for (const ValueId value : *values) {
      if (!value.valid() || IsPlainTensor(graph[value].type)) continue;
      return StrCat("'", graph[value].name, "' is ", Text(graph[value].type));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> WhyNotPlannable(const Graph& graph, NodeId id) {
  if (auto reason = WhyNotPlannableItself(graph, id)) return reason;
  for (const graph::SubgraphId body : SubgraphsOf(graph[id])) {
    for (const NodeId inner : graph[body].nodes) {
      if (auto reason = WhyNotPlannable(graph, inner)) return reason;
    }
    if (auto reason = WhyNoPlainPorts(graph, graph[body])) return reason;
  }
  return std::nullopt;
}

std::optional<std::string> WhyNotPlannable(const Graph& graph) {
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      if (auto reason = WhyNotPlannableItself(graph, id)) return reason;
    }
    if (auto reason = WhyNoPlainPorts(graph, body)) return reason;
  }
  return std::nullopt;
}

}  // namespace plimsoll::compile
