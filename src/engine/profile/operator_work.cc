#include "engine/profile/operator_work.h"

#include "graph/operator_row.h"

namespace plimsoll::engine {
namespace {

using graph::Graph;
using graph::ValueId;

Bytes SizeOfValue(const Graph& graph, ValueId value) {
  return value.valid() ? graph::SizeOf(graph[value].type).value_or(Bytes(0)) : Bytes(0);
}

}  // namespace

OperatorWork WorkOf(const Graph& graph, graph::NodeId node) {
  OperatorWork work;
  for (const ValueId input : graph[node].inputs) work.read += SizeOfValue(graph, input);
  for (const ValueId output : graph[node].outputs) work.written += SizeOfValue(graph, output);
  const graph::OperationsRule count = graph::FactsOf(graph[node]).operations;
  if (count != nullptr) work.operations = count(graph, graph[node]);
  return work;
}

}  // namespace plimsoll::engine
