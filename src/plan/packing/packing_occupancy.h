#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/packing/packing.h"
#include "plan/problem/address_ranges.h"

namespace plimsoll::plan {

// Which addresses are taken when, for placing the items of a packing one by one. A tree over the
// moments at which lives begin; each node keeps the merged address ranges of the items that cover
// all of it, and of those that touch any of it. Dense placements merge to few ranges, and a node
// with very many gives up its narrowest gaps, so finding and taking a gap costs near O(log n) and
// overlapping pairs are never listed. One thread.
//
// `Height` is int64_t or, in half the memory, uint32_t: see HeightsFit32Bits.
template <typename Height>
class PackingOccupancy {
 public:
  // Keeps a reference to `packing`. Heights count in `unit`, which CommonUnit gave or divides that.
  PackingOccupancy(const Packing& packing, int64_t unit);

  // The lowest aligned offset at which item `index` meets nothing placed so far. Items that take no
  // room may be neither sought for nor placed.
  int64_t LowestGap(int32_t index);

  // Asks for the memory that LowestGap and Place of item `index` will read soon: a large tree is in
  // no cache, and waiting for it is most of the work. Changes nothing.
  void Prefetch(int32_t index) const;

  // Marks an item as placed at `offset`. It may overlap others.
  void Place(int32_t index, int64_t offset);

 private:
  using Range = AddressRange<Height>;
  // Moments [first, last).
  struct Span {
    int32_t first;
    int32_t last;
  };
  // Takes `range` in node `number` and below; whether what touches it may have changed. A node that
  // did not change leaves those above it as they are.
  bool Take(Span life, Range range, size_t number, Span within);
  // Calls visitor(number, true) for the largest nodes inside `life`, visitor(number, false) for all
  // above these. `life` must meet `within`, the span of node `number`.
  template <typename Visitor>
  void Visit(Span life, Visitor&& visitor, size_t number, Span within) const;

  const Packing& packing_;
  const int64_t unit_;
  std::vector<Span> lives_;  // by item
  int32_t leaves_ = 1;       // a power of two
  // By node, the root is 1. A leaf is covered by all that touches it.
  std::vector<AddressRanges<Height>> covered_;
  std::vector<AddressRanges<Height>> touched_;
  std::vector<bool> gave_up_gaps_;  // by node: what touches it is overstated
  // Ranges that are in the way of one item, and have not been passed yet.
  std::vector<std::span<const Range>> ahead_;
};

// `offset` or the next multiple of `alignment` above it.
template <typename Height>
Height AlignUp(Height offset, Height alignment) {
  return alignment <= 1 ? offset : (offset + alignment - 1) / alignment * alignment;
}

}  // namespace plimsoll::plan
