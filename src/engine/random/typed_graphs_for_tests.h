#pragma once

#include <vector>

#include "compile/graph_for_tests.h"
#include "graph/graph.h"

// Graphs with values outside the feature map, and a small one with values in it.
namespace plimsoll::engine {

constexpr int64_t kTypedRows = 20;

struct Typed {
  graph::Graph graph;
  graph::ValueId peer;   // in P2P memory
  graph::ValueId host;   // in memory of the host
  graph::ValueId plain;  // in neither
};

inline Typed TwoTypes(graph::Dim rows = graph::Dim(kTypedRows)) {
  using graph::MemoryAttributes;
  using graph::ValueId;
  graph::GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({rows, 32}));
  const ValueId plain = builder.Node("Softmax", {x});
  const ValueId peer = builder.Node("Tanh", {plain});
  const ValueId host = builder.Node("Sin", {builder.Node("Neg", {peer})});
  builder.Output(builder.Node("Softmax", {builder.Node("Add", {host, plain})}));
  builder.Output(peer);
  Typed made{builder.Build(), peer, host, plain};
  made.graph[made.graph[peer].producer].memory.memory_type = MemoryAttributes::Type::kP2P;
  made.graph[made.graph[host].producer].memory.memory_type = MemoryAttributes::Type::kHost;
  return made;
}

// Two products one behind the other over 16 rows; what lies between them is in the feature map.
inline graph::Graph TwoProducts() {
  using graph::ValueId;
  graph::GraphBuilder builder;
  const ValueId x = builder.Input("x", compile::FloatTensor({16, 32}));
  std::vector<float> weights(32 * 32);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) - 3;
  const ValueId w = builder.Float32s("w", {32, 32}, weights);
  builder.Output(builder.Node("MatMul", {builder.Node("MatMul", {x, w}), w}));
  return builder.Build();
}

}  // namespace plimsoll::engine
