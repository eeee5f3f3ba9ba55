#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/content.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Nodes [first, end) of a body, which run one after the other.
struct Stretch {
  graph::SubgraphId body;
  size_t first = 0;
  size_t end = 0;
  // Of what it reads: those whose elements some of its sizes follow from.
  std::vector<graph::ValueId> assumed = {};
};

// What a stretch reads of what others made, and what others read of what it makes. Constants and
// what it assumes are no part of either.
struct StretchPorts {
  std::vector<graph::ValueId> inputs;
  std::vector<graph::ValueId> outputs;
};
StretchPorts PortsOfStretch(const graph::Graph& graph, const Stretch& stretch);

// The elements of a value that a stretch reads; none: they are not to be assumed.
using ElementsToAssume = std::function<std::optional<graph::Content>(graph::ValueId value)>;

// The nodes from `first` on that can be planned together, given the types that values have now:
// each has a kernel and makes plain tensors whose sizes follow from the sizes of what the stretch
// reads, or from elements that it assumes. No more are assumed than its nodes need, and what else
// is known of the elements of its inputs is not made use of. Leaves the types of what
// the stretch makes in the graph.
Stretch FindStretch(graph::Graph& graph, graph::SubgraphId body, size_t first,
                    const ElementsToAssume& elements = {});

// The stretch as a graph of its own, in which what it assumes are these constants.
graph::Graph CutStretch(const graph::Graph& graph, const Stretch& stretch,
                        const StretchPorts& ports,
                        const std::vector<graph::ConstantTensor>& assumed = {});

// Where a graph that cannot be planned as a whole is cut: an outlook, with 1 for every size that
// only data tells.
struct GraphCuts {
  std::vector<graph::NodeId> single;  // nodes of the root that run by themselves
  int64_t stretches = 0;              // between them
  int64_t planned_nodes = 0;          // in these
};
GraphCuts FindCuts(graph::Graph graph);

}  // namespace plimsoll::compile
