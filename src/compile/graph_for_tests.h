#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/must_for_tests.h"
#include "compile/shapes/shapes.h"
#include "graph/builder.h"
#include "plimsoll/base/text.h"

// For tests of passes: graphs with shapes, and what is left of them.
namespace plimsoll::compile {

inline graph::ValueType FloatTensor(graph::Shape shape) {
  return graph::ValueType::Tensor(graph::DataType::kFloat32, std::move(shape));
}

inline graph::Graph Inferred(graph::GraphBuilder& builder) {
  graph::Graph graph = builder.Build();
  Must(InferShapes(graph));
  return graph;
}

// "Conv Relu Add": the operators of a body, in order.
inline std::string OperatorsOf(const graph::Graph& graph,
                               graph::SubgraphId body = graph::Graph::kRoot) {
  std::vector<std::string> names;
  for (const graph::NodeId node : graph[body].nodes) names.push_back(OperatorName(graph[node]));
  return Join(names, " ");
}

// The node of the root that makes the model's output `i`.
inline const graph::Node& MakerOfOutput(const graph::Graph& graph, size_t i = 0) {
  return graph[graph[graph.root().outputs[i]].producer];
}

template <typename Value>
graph::Attributes With(std::string name, Value value) {
  graph::Attributes attributes;
  attributes.Set(std::move(name), graph::Attribute(std::move(value)));
  return attributes;
}

}  // namespace plimsoll::compile
