#pragma once

#include <cstdint>
#include <vector>

#include "plan/problem/alias_roots.h"
#include "plimsoll/base/status.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// Buffers whose places relative to each other are settled; the whole is placed as one.
struct ContinuousUnit {
  std::vector<BufferPlace> members =
      {};  // ascending offsets, except between rows of different batches
  int64_t size = 0;
  std::vector<uint32_t> groups = {};  // of Problem::contiguous
  bool merged = false;                // holds groups of several batches and is given to nobody else
};

// Lays out the contiguous groups of a problem: inputs that an operator needs side by side, and the
// outputs of collective (HCOM) operators. Adjacent means adjacent in the planned address space, not
// in physical pages. Groups of different batches are merged into large blocks on request: the first
// groups of all batches share the first row, the second ones the second row, and so on, so that
// each batch's group is aligned to the start of its row; a block that would grow beyond
// kMaxSplitSizeForDynamicBatch is closed and the next one opened.
class ContinuousMemMng {
 public:
  // Fails on groups that contradict other relations. `roots` comes from ResolveAliases. Linear.
  static Result<ContinuousMemMng> Make(const Problem& problem,
                                       const std::vector<BufferPlace>& roots, bool merge_batches);

  const std::vector<ContinuousUnit>& units() const { return units_; }

 private:
  static Result<ContinuousUnit> LayOut(const Problem& problem, uint32_t group);
  void Merge(const Problem& problem, const std::vector<BufferPlace>& roots);

  std::vector<ContinuousUnit> units_;
};

}  // namespace plimsoll::plan
