#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace plimsoll::compile {

// What a node can do on tensors whose channels lie in groups (channel_groups.h).
enum class ChannelGroupRule {
  kNone,         // needs plain tensors
  kConvolution,  // becomes plimsoll::FusedConv
  kPool,         // becomes plimsoll::FusedPool; input 0 must be grouped already
  kElementwise,  // stays what it is, on grouped tensors
  kConcat,       // likewise, along the channels
  kScaleShift,   // likewise, of input 0, which must be grouped already
};

// How an operand of an element-wise node meets a grouped result of that shape.
enum class ChannelGroupOperand {
  kNone,      // not at all
  kFull,      // of the same shape
  kChannels,  // [N or 1, C, 1, 1...]
  kScalar,    // a constant of one element, used as it is
};

// The rule for a node whose shapes are static. Channels beyond the last one hold zeros, so an
// operator that makes something else of zeros needs channels that fill their groups.
ChannelGroupRule RuleFor(const graph::Graph& graph, const graph::Node& node, int64_t group_size);

ChannelGroupOperand OperandKind(const graph::Graph& graph, graph::ValueId operand,
                                graph::ValueId result);

}  // namespace plimsoll::compile
