#pragma once

#include <string>

#include "plimsoll/plan/assigner.h"

namespace plimsoll::plan {

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
