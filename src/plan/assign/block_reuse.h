#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "plan/assign/blocks.h"
#include "plan/assign/memory_block.h"
#include "plan/packing/region_placement.h"
#include "plimsoll/plan/block_mem_assigner.h"

namespace plimsoll::plan {

// One walk of BlockMemAssigner over one region. The steps of the walk are public, so that their
// order can be shown; Run does all of them.
class BlockReuse {
 public:
  BlockReuse(const BlockProblem& problem, const BlockRegion& region, const BlockReuseKnobs& knobs);

  RegionPlacement Run();

  // Begins the next node: what the node before left suspended is released, then everything that has
  // died by then.
  void NextNode(int32_t moment);

  // Lends memory to a block of the region that begins to live now, and returns the index of the
  // MemoryBlock. A tenant that dies at its own node is suspended until NextNode.
  uint32_t Allocate(uint32_t tenant);

  const std::vector<MemoryBlock>& memory() const { return memory_; }
  const std::vector<uint32_t>& suspended() const { return suspended_; }

 private:
  std::vector<uint32_t> NodeOrder() const;
  FreeBlocks FreeFor(uint32_t tenant) const;
  void Retire(uint32_t index, uint32_t tenant);
  RegionPlacement Lay();
  void LayEndToEnd(std::vector<int64_t>& places) const;
  void Overlay(std::vector<int64_t>& places) const;

  const BlockProblem& problem_;
  const BlockRegion& region_;
  const BlockReuseKnobs knobs_;
  std::vector<MemoryBlock> memory_;
  FreeBlocks free_;
  const std::vector<bool> shared_;  // by block of the region: its fixed bytes are not lent
  std::vector<uint32_t> suspended_;
  // When the present tenant dies, and the MemoryBlock it leaves.
  using Death = std::pair<int32_t, uint32_t>;
  std::priority_queue<Death, std::vector<Death>, std::greater<>> deaths_;
};

}  // namespace plimsoll::plan
