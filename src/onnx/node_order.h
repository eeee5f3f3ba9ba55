#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/wire/records.h"
#include "onnx/wire/source.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// "graph.node[3] 'conv1' (Conv)": how errors name a node of a file; `body` is where the node lies.
std::string NodePlace(std::string_view body, const NodeRecord& node, size_t index);

// The nodes of one body in an order in which every value is made before it is read: the file's own
// where that is one, else the one nearest to it (of the nodes that could come next, the first).
//
// Errors: a name made twice (onnx.duplicate); nodes that wait for each other (onnx.cycle, naming
// them); a name that a node reads before its own body makes it while an outer body has it too,
// which could mean either (onnx.shadow). `visible_outside` tells whether an outer body has a name.
// Cost: n log n in the names.
Result<std::vector<size_t>> OrderNodes(
    const Source& source, const std::vector<NodeRecord>& nodes, std::string_view body,
    const std::function<bool(std::string_view)>& visible_outside);

}  // namespace plimsoll::onnx
