#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/status.h"
#include "plimsoll/engine/session.h"

namespace plimsoll::engine {

using plimsoll::VariableName;

// Reads "w=w_next,m=m_next,table" and, with sizes that the model leaves open,
// "past=present@1x2x512x64". Fails (variables.argument) where a part is no name or pair.
Result<std::vector<VariableName>> ParseVariables(std::string_view text);

// What the model's metadata `state` says, none where it has none. It is one of
//   {"w": "w_next", "m": "m_next"}             inputs and the outputs that replace them
//   {"parameters": 54, "first_moments": 54}    so many inputs come first and so many outputs last,
//                                              in the same order; other members are remarks
//   w=w_next,m=m_next                          as ParseVariables
// Fails (variables.metadata) on anything else.
Result<std::vector<VariableName>> VariablesInMetadata(const graph::Graph& graph);

// A variable of a graph, by the places of its input and output in the root's lists.
struct VariablePort {
  size_t input = 0;
  std::optional<size_t> output;
  std::string group;
  graph::ConstantTensor initial;  // of a type: what it holds before anybody sets it
  // What replaces it is longer along this axis; `most` are the sizes that it must have room for.
  std::optional<size_t> growth_axis = {};
  std::vector<int64_t> most = {};
};

// Finds the variables in the graph. A name of a constant of the root is a variable too, which
// begins with its elements: it becomes an input behind the others. One with sizes of its own that a
// Concat appends to grows along the Concat's axis, where the model leaves that size open. Fails,
// and leaves the graph as it is, where a name is unknown or given twice.
Result<std::vector<VariablePort>> BindVariables(graph::Graph& graph,
                                                const std::vector<VariableName>& names);

// Fails where a variable's shape is open, or an output that replaces it is of another type or
// shape, except along the axis that it grows along. Types as far as they are known before a run.
Status CheckVariableTypes(const std::string& name, const graph::ValueType& input,
                          const graph::ValueType* output,
                          std::optional<size_t> growth_axis = std::nullopt);

}  // namespace plimsoll::engine
