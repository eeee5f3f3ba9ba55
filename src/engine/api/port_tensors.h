#pragma once

#include <string>
#include <vector>

#include "compile/shapes/input_shapes.h"
#include "engine/memory/kept_blocks.h"
#include "engine/run/executable.h"
#include "engine/run/ports.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

// Tensors that stand for a graph's inputs and outputs.
namespace plimsoll::engine {

// The type and shape of each input of the graph, which `shapes` completes; a symbol that is still
// open counts as 1.
Result<std::vector<TensorView>> InputShapes(const graph::Graph& graph,
                                            const std::vector<compile::ShapeArgument>& shapes);

// A graph of nothing but these inputs.
graph::Graph GraphOfInputs(const std::vector<Port>& ports);

// By output of the graph: it is the new value of a variable, which callers do not see.
std::vector<bool> ReplacesVariable(const Executable& executable);

// Tensors for what a run of the executable writes, one for each of the caller's outputs; empty
// where another batch than `batch` makes it. Large ones take pages that earlier ones gave back to
// `blocks`, which keeps no more than twice what they all take; null: fresh memory.
Result<std::vector<Tensor>> MakeOutputs(const Executable& executable,
                                        const std::vector<Port>& ports, const std::string& batch,
                                        KeptBlocks* blocks = nullptr);

}  // namespace plimsoll::engine
