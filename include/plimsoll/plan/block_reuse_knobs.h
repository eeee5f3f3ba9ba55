#pragma once

#include <optional>

namespace plimsoll::plan {

// The choices of block reuse.
struct BlockReuseKnobs {
  // A free block serves only requests of its own size range (the same power of two), so that small
  // buffers do not hold large blocks. Off: any block that is large enough.
  bool use_range = false;
  // Buffers that one node allocates are served smallest first. Off: largest first.
  bool ascending_sort = false;
  // Of the free blocks that serve, the one released first. Off: the smallest.
  bool reuse_first_release = false;
  // Memory before everything: a free block that is too small may grow, and finished blocks overlay
  // each other where their lives allow. Off: blocks keep their size and lie one behind the other.
  bool memory_priority_mode = true;
  bool operator==(const BlockReuseKnobs&) const = default;
};

// How the buffers of one batch are placed: block reuse with these knobs; none: the search.
using BatchStrategy = std::optional<BlockReuseKnobs>;

}  // namespace plimsoll::plan
