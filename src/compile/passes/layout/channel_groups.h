#pragma once

#include "compile/passes/fuse/fusion_patterns.h"
#include "graph/graph.h"
#include "kernels/blocking.h"

namespace plimsoll::compile {

// Lets convolutions and what lies between them work on tensors whose channels lie in groups of 8 or
// 16 (the blocked form of kernels/blocking.h), where they are fastest: activations, sums, pools and
// concatenations keep that form, and reorders stand only where it begins and ends. A convolution at
// such a border takes or gives the plain form itself. All shapes must be static. Gives how many
// nodes work on such tensors.
FusionCounts GroupChannels(graph::Graph& graph, int group_size = kernels::BlockSize());

// The same for tensors whose channels fill their groups, so that no form is larger than another; a
// convolution between one that does and one that does not takes or gives the plain form.
FusionCounts GroupFilledChannels(graph::Graph& graph, int group_size = kernels::BlockSize());

}  // namespace plimsoll::compile
