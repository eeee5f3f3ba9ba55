#include "plimsoll/plan/block_mem_assigner.h"

#include "plan/assign/block_reuse.h"

namespace plimsoll::plan {

RegionPlacement BlockMemAssigner::PlaceRegion(const BlockProblem& blocks, const BlockRegion& region,
                                              const Budget&) const {
  return BlockReuse(blocks, region, knobs_).Run();
}

}  // namespace plimsoll::plan
