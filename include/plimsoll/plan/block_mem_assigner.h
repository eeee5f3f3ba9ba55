#pragma once

#include <string>

#include "plimsoll/plan/assigner.h"

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
};

// The seed's block reuse: walks the nodes in the order of execution, gives each buffer a free block
// or a new one, and takes blocks back when their tenants die. The block of a buffer that nobody
// reads is suspended at its own node and released when the next node allocates. No search: the
// effort is not used. Near-linear on one stream, quadratic on several.
class BlockMemAssigner : public RegionMemAssigner {
 public:
  explicit BlockMemAssigner(BlockReuseKnobs knobs = {}) : knobs_(knobs) {}
  std::string name() const override { return "block"; }

 private:
  RegionPlacement PlaceRegion(const BlockProblem& blocks, const BlockRegion& region,
                              const Budget& budget) const override;

  BlockReuseKnobs knobs_;
};

}  // namespace plimsoll::plan
