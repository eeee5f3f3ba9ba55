#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Whose memory may be used again, and by whom.
struct ReuseOptions {
  bool disabled = false;  // ge.exec.disableReuseMemory: every buffer has its bytes to itself
  // OP_NO_REUSE_MEM: nodes by name, or by operator type. What they make and their workspaces share
  // bytes with nobody.
  std::vector<std::string> not_of;
  std::vector<int> inputs;   // ge.exec.inputReuseMemIndexes: ours to overwrite once they were read
  std::vector<int> outputs;  // ge.exec.outputReuseMemIndexes: scratch until they are written
  std::vector<int> multi_batch_inputs;  // whose shapes the gears determine: never zero copy
};

// ReuseOptions said of one graph. A fused operator counts as the operator that it extends: "Conv"
// means FusedConv too.
struct ReuseRules {
  std::vector<bool> kept;            // by node: what it makes is given to nobody else
  std::vector<std::string> unknown;  // of `not_of`: neither a node nor an operator of this graph

  bool Keeps(graph::NodeId node) const { return node.valid() && kept[node.index()]; }
};

// Linear in the graph times the length of `not_of`.
ReuseRules MakeReuseRules(const graph::Graph& graph, const ReuseOptions& options);

}  // namespace plimsoll::compile
