#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::engine {

// A graph as it was read, without its weights: what it would take with plain lives in the file's
// order, which a compiled one is held against.
class PlainGraph {
 public:
  explicit PlainGraph(graph::Graph graph);

  // For inputs of these shapes; nothing where they do not fit.
  std::optional<Bytes> Peak(const std::vector<kernels::Dims>& dims);

 private:
  graph::Graph graph_;  // with the shapes that were asked for last
};

// The same graph with inputs of these shapes, from which all others follow.
Result<graph::Graph> WithShapes(graph::Graph graph, const std::vector<kernels::Dims>& dims);

}  // namespace plimsoll::engine
