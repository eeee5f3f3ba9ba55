#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/problem/alias_roots.h"
#include "plan/problem/lifetimes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/plan/assigner.h"
#include "plimsoll/plan/memory_plan.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// A rectangle in address and time that a block occupies.
struct Piece {
  int64_t low = 0;  // bytes [low, high) from the start of the block
  int64_t high = 0;
  int32_t begin = 0;  // moments [begin, end); see Lifetimes
  int32_t end = 0;
  BufferId life = {};       // whose life it is, for lives on several streams
  BatchId batch = {};       // none: lives in every batch
  bool exclusive = false;   // keeps its bytes from everybody, always
  bool overstated = false;  // larger than what truly lives; not to be counted in a lower bound
};

// Buffers whose places relative to each other are settled by aliases, contiguous groups, clearing
// areas or merged batches: what the assigners move as one.
struct Block {
  int64_t size = 0;
  int64_t alignment = 1;
  int64_t fixed = -1;  // its offset when settled, else -1
  Piece whole;         // covers all its pieces
  uint32_t first_member = 0;
  uint32_t member_count = 0;
  uint32_t first_piece = 0;  // no pieces: `whole` is exact
  uint32_t piece_count = 0;
  bool is_fixed_addr_prior = false;
  bool zero_copy = false;

  bool idle() const { return whole.begin == whole.end && !whole.exclusive; }
};

// The blocks of one region.
struct BlockRegion {
  RegionId region;
  std::vector<Block> blocks;
  std::vector<Piece> pieces;
  int64_t lower_bound = 0;  // proven for the problem as given
  bool plain = false;      // every block is a rectangle on one line, and batches make no difference
  bool has_prior = false;  // some fixed offsets were chosen by us: proofs beyond do not count

  std::span<const Piece> PiecesOf(const Block& block) const {
    if (block.piece_count == 0) return {&block.whole, 1};
    return {pieces.data() + block.first_piece, block.piece_count};
  }
};

// A problem in blocks, ready for the assigners. Immutable once made: every planning thread reads
// the same one. Borrows the problem.
struct BlockProblem {
  const Problem* problem = nullptr;
  Lifetimes lifetimes;
  std::vector<BlockRegion> regions;
  std::vector<BufferPlace> members;          // of all blocks
  std::vector<ClearingArea> clearing_areas;  // offsets from the start of `clearing_blocks`
  std::vector<uint32_t> clearing_blocks;     // by area: the index of its block in its region
  std::vector<MergedBlock> merged_blocks;    // the same for merged blocks
  std::vector<uint32_t> merged_indices;

  bool Together(const Piece& a, const Piece& b) const {
    if (a.exclusive || b.exclusive) return true;
    if (a.batch.valid() && b.batch.valid() && a.batch != b.batch) return false;
    if (lifetimes.one_line()) return a.begin < b.end && b.begin < a.end;
    return lifetimes.Together(a.life, b.life);
  }

  // Whether two blocks of a region need bytes at the same moment.
  bool Together(const BlockRegion& region, const Block& a, const Block& b) const;
};

// Checks the whole problem and reduces it. Near-linear. Fixed offsets that collide are found by
// PreAssign, not here.
Result<BlockProblem> MakeBlocks(const Problem& problem, const BatchPolicy& policy);

}  // namespace plimsoll::plan
