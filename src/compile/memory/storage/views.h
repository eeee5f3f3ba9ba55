#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

// `part` is a run of `whole`'s bytes, `offset` from its start: nothing needs to be copied.
struct WindowOf {
  graph::ValueId part;
  graph::ValueId whole;
  Bytes offset;
};

// Operators whose output is their first input under another shape: Reshape, Squeeze, Unsqueeze,
// Flatten, Identity, and foreign operators with attribute view=1.
bool IsPlainView(const graph::Node& node);

// What a node could do without moving a byte: outputs that are windows of its input (views, Split,
// Slice, a Transpose that moves only dimensions of 1, reference outputs), or inputs that are
// windows of its output (Concat). Row-major layout; empty when bytes would have to move.
std::vector<WindowOf> WindowsOf(const graph::Graph& graph, graph::NodeId node);

}  // namespace plimsoll::compile
