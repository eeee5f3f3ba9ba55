#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::engine {

// What a node must at least do, whatever its kernel: read each input once, write each output once,
// and so many additions and multiplications, where its operator's row counts them.
struct OperatorWork {
  Bytes read;
  Bytes written;
  int64_t operations = 0;  // 0: not counted
};

// Shapes must be known; what is not known counts as nothing.
OperatorWork WorkOf(const graph::Graph& graph, graph::NodeId node);

}  // namespace plimsoll::engine
