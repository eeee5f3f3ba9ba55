#pragma once

#include "graph/attribute.h"
#include "onnx/contributed/channel_blocks.h"
#include "onnx/wire/records.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// What an operator of com.microsoft.nchwc means with plain data: the standard's operator of that
// name (nothing for a Reshape that only gives blocks an axis of their own), its filter brought back
// into plain order by nodes over constants, which are worked out before a run. As
// ContributedFunction else.
Result<FunctionRecord> BlockedFunction(const NodeRecord& node, const BlockedNode& facts,
                                       const graph::Attributes& attributes);

}  // namespace plimsoll::onnx
