#include "graph/operators/product/operations.h"

#include <algorithm>
#include <string>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::graph::operators {
namespace {

using FixedDims = std::vector<int64_t>;

// The dimensions of a tensor whose shape is known in full; empty for others.
FixedDims FixedDimsOf(const Graph& graph, const std::vector<ValueId>& operands, size_t place) {
  if (place >= operands.size() || !operands[place].valid()) return {};
  const ValueType& type = graph[operands[place]].type;
  if (!type.is_tensor() || !type.shape || !IsStatic(*type.shape)) return {};
  return StaticDims(*type.shape);
}

int64_t CountOf(const FixedDims& dims) {
  int64_t count = dims.empty() ? 0 : 1;
  for (const int64_t dim : dims) count = SaturatingMultiply(count, dim);
  return count;
}

// A multiplication and an addition for each term of each element.
int64_t SumsOf(int64_t elements, int64_t terms) {
  return SaturatingMultiply(SaturatingMultiply(2, elements), terms);
}

int64_t SumsOverFilters(const Graph& graph, const Node& node, size_t elements_of_input,
                        size_t filter_input) {
  const FixedDims filters = FixedDimsOf(graph, node.inputs, filter_input);
  const FixedDims elements = elements_of_input < node.inputs.size()
                                 ? FixedDimsOf(graph, node.inputs, elements_of_input)
                                 : FixedDimsOf(graph, node.outputs, 0);
  if (filters.empty() || elements.empty()) return 0;
  return SumsOf(CountOf(elements), CountOf(filters) / std::max<int64_t>(filters.front(), 1));
}

constexpr size_t kElementsOfResult = ~size_t{0};

int64_t SumsOverKeys(const Graph& graph, const Node& node, int64_t keys, bool causal) {
  const int64_t queries = CountOf(FixedDimsOf(graph, node.inputs, 0));
  const int64_t results = CountOf(FixedDimsOf(graph, node.outputs, 0));
  if (queries == 0 || results == 0) return 0;
  const int64_t all = SaturatingAdd(SumsOf(queries, keys), SumsOf(results, keys));
  return causal ? all / 2 : all;
}

}  // namespace

int64_t MatrixOperations(const Graph& graph, const Node& node) {
  const FixedDims factor = FixedDimsOf(graph, node.inputs, 0);
  const FixedDims result = FixedDimsOf(graph, node.outputs, 0);
  if (factor.empty()) return 0;
  const bool transposed = factor.size() > 1 && node.attributes.Int("transA", 0) != 0;
  // The product of two vectors is one number, which has no axis.
  const bool vectors = factor.size() == 1 && result.empty();
  return SumsOf(vectors ? 1 : CountOf(result), factor[factor.size() - (transposed ? 2 : 1)]);
}

int64_t ConvolutionOperations(const Graph& graph, const Node& node) {
  return SumsOverFilters(graph, node, kElementsOfResult, 1);
}

int64_t QuantizedConvolutionOperations(const Graph& graph, const Node& node) {
  return SumsOverFilters(graph, node, kElementsOfResult, 3);
}

int64_t TransposedConvolutionOperations(const Graph& graph, const Node& node) {
  return SumsOverFilters(graph, node, 0, 1);
}

int64_t AttentionOperations(const Graph& graph, const Node& node) {
  const FixedDims values = FixedDimsOf(graph, node.inputs, 2);
  const FixedDims past = FixedDimsOf(graph, node.inputs, 4);
  if (values.size() < 3) return 0;
  const int64_t keys = values[values.size() == 3 ? 1 : 2] + (past.size() == 4 ? past[2] : 0);
  return SumsOverKeys(graph, node, keys, node.attributes.Int("is_causal", 0) != 0);
}

int64_t FusedAttentionOperations(const Graph& graph, const Node& node) {
  const FixedDims values = FixedDimsOf(graph, node.inputs, 2);
  if (values.size() < 3) return 0;
  const std::string layout =
      node.attributes.String("kv_layout", node.attributes.String("q_layout", "bhsd"));
  const int64_t keys = values[layout == "bshd" || values.size() == 3 ? 1 : 2];
  return SumsOverKeys(graph, node, keys, node.attributes.Int("causal", 0) != 0);
}

}  // namespace plimsoll::graph::operators
