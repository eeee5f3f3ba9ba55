#pragma once

#include <cstdint>

#include "graph/graph.h"

// How many additions and multiplications products do, for the facts of their operators
// (OperatorFacts::operations). Shapes must be known in full: else the answer is 0.
namespace plimsoll::graph::operators {

// Rows of input 0 times columns of input 1; `transA` as Gemm has it.
int64_t MatrixOperations(const Graph& graph, const Node& node);
// Each element of the result is a sum over a filter of input 1, of which the first axis counts.
int64_t ConvolutionOperations(const Graph& graph, const Node& node);
// The same with the filters at input 3.
int64_t QuantizedConvolutionOperations(const Graph& graph, const Node& node);
// Each element of input 0 is multiplied with all that one channel of input 1 has.
int64_t TransposedConvolutionOperations(const Graph& graph, const Node& node);
// Queries times keys, and what that gives times values; half of it where a query sees only the keys
// up to its own place.
int64_t AttentionOperations(const Graph& graph, const Node& node);
int64_t FusedAttentionOperations(const Graph& graph, const Node& node);

}  // namespace plimsoll::graph::operators
