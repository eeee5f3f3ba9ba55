#pragma once

#include "plan/assign/blocks.h"

namespace plimsoll::plan {

// Whether what ends at `guest_end` may use the bytes of a zero-copy block of `host` bytes at some
// moment: only within its real size, since the caller's memory ends there whatever the alignment.
bool IsRealSizeReuseBlock(Bytes host, Bytes guest_end);

// Settles the offset of every block of a zero-copy region. Blocks bound to the caller's memory lie
// disjoint, each at a place of its own. Any other block moves into one of them, or
// into an earlier such block, when their lives allow it. Fails on fixed offsets that break this;
// whether lives collide is not checked here. O(blocks * blocks) at worst.
Status PlaceZeroCopyBlocks(const BlockProblem& problem, BlockRegion& region);

}  // namespace plimsoll::plan
