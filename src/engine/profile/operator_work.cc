#include "engine/profile/operator_work.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace plimsoll::engine {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

Bytes SizeOfValue(const Graph& graph, ValueId value) {
  return value.valid() ? graph::SizeOf(graph[value].type).value_or(Bytes(0)) : Bytes(0);
}

// The dimensions of a tensor whose shape is known in full; empty for others.
std::vector<int64_t> DimsOf(const Graph& graph, ValueId value) {
  if (!value.valid() || !graph[value].type.is_tensor()) return {};
  const auto& shape = graph[value].type.shape;
  return shape && graph::IsStatic(*shape) ? graph::StaticDims(*shape) : std::vector<int64_t>();
}

int64_t ElementsOf(const std::vector<int64_t>& dims) {
  int64_t count = dims.empty() ? 0 : 1;
  for (const int64_t dim : dims) count = SaturatingMultiply(count, dim);
  return count;
}

// How many products are summed up for one element of the result.
enum class Terms {
  kOfRow,     // as many as a row of input 0 has elements
  kOfFilter,  // as many as a filter of input 1 has
};
struct ProductOperator {
  std::string_view name;
  Terms terms;
};
constexpr std::array kProductOperators = {
    ProductOperator{"MatMul", Terms::kOfRow}, ProductOperator{"Gemm", Terms::kOfRow},
    ProductOperator{"FusedMatMul", Terms::kOfRow}, ProductOperator{"Conv", Terms::kOfFilter},
    ProductOperator{"FusedConv", Terms::kOfFilter}};

int64_t OperationsOf(const Graph& graph, const Node& node) {
  const auto known = std::find_if(kProductOperators.begin(), kProductOperators.end(),
                                  [&](const ProductOperator& one) { return one.name == node.op; });
  if (known == kProductOperators.end() || node.inputs.size() < 2 || node.outputs.empty()) return 0;
  const std::vector<int64_t> result = DimsOf(graph, node.outputs[0]);
  const std::vector<int64_t> operand =
      DimsOf(graph, node.inputs[known->terms == Terms::kOfRow ? 0 : 1]);
  if (result.empty() || operand.empty()) return 0;
  const int64_t parts = known->terms == Terms::kOfRow
                            ? ElementsOf(result) / std::max<int64_t>(result.back(), 1)
                            : operand.front();
  const int64_t terms = ElementsOf(operand) / std::max<int64_t>(parts, 1);
  return SaturatingMultiply(SaturatingMultiply(2, ElementsOf(result)), terms);
}

}  // namespace

OperatorWork WorkOf(const Graph& graph, graph::NodeId node) {
  OperatorWork work;
  for (const ValueId input : graph[node].inputs) work.read += SizeOfValue(graph, input);
  for (const ValueId output : graph[node].outputs) work.written += SizeOfValue(graph, output);
  work.operations = OperationsOf(graph, graph[node]);
  return work;
}

}  // namespace plimsoll::engine
