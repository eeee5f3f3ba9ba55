#include "compile/bodies.h"

#include <algorithm>

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

bool IsInside(const Graph& graph, SubgraphId home, SubgraphId body) {
  while (home.valid()) {
    if (home == body) return true;
    const NodeId owner = graph[home].owner;
    home = owner.valid() ? graph[owner].home : SubgraphId();
  }
  return false;
}

}  // namespace

std::vector<ValueId> ReadsOf(const Graph& graph, NodeId id) {
  std::vector<ValueId> reads;
  const auto add = [&](ValueId value) {
    if (value.valid() && std::find(reads.begin(), reads.end(), value) == reads.end()) {
      reads.push_back(value);
    }
  };
  for (const ValueId input : graph[id].inputs) add(input);
  for (const SubgraphId body : SubgraphsOf(graph[id])) {
    const auto outside = [&](ValueId value) {
      if (value.valid() && !IsInside(graph, graph[value].home, body)) add(value);
    };
    for (const NodeId inner : graph[body].nodes) {
      for (const ValueId value : ReadsOf(graph, inner)) outside(value);
    }
    for (const ValueId output : graph[body].outputs) outside(output);
  }
  return reads;
}

Bytes PlannedSize(const graph::ValueType& type) {
  if (!type.is_tensor() || !type.shape) return Bytes(0);
  int64_t count = 1;
  for (const graph::Dim& dim : *type.shape) {
    const graph::Dim known =
        dim.Substitute([](const std::string&) { return std::optional(graph::Dim(1)); });
    count = SaturatingMultiply(count, std::max<int64_t>(0, known.number()));
  }
  return SizeOf(type.data_type, count);
}

}  // namespace plimsoll::compile
