#pragma once

#include <optional>

#include "compile/passes/rewriter.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Gives the attributes activation, activation_alpha and activation_beta of a fused operator that
// does the work of `node` on its own results; nothing where `node` is no such activation, or where
// its bounds are not constants.
std::optional<graph::Attributes> ActivationAttributes(const graph::Graph& graph,
                                                      const graph::Node& node);

// The node that alone reads `value`, when a pass may fuse it with what makes `value`: ordinary
// memory, the same body. Not valid otherwise.
graph::NodeId OnlyReader(const Rewriter& rewriter, graph::ValueId value, graph::SubgraphId home);

// The input of a node of two inputs that is not `one`; not valid when both are.
graph::ValueId OtherInput(const graph::Node& node, graph::ValueId one);

// Copies `from` into `to`, replacing what has the same name.
void SetAll(graph::Attributes& to, const graph::Attributes& from);

}  // namespace plimsoll::compile
