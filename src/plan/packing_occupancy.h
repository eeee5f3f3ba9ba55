#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing.h"

namespace plimsoll::plan {

// Which addresses are taken when, for placing items one by one. A tree over the moments at which
// lives begin; each node keeps the merged address ranges of the items that cover all of it, and of
// those that touch any of it. Dense placements merge to a few ranges, so finding and taking a gap
// costs near O(log n), and overlapping pairs are never listed. One thread.
class PackingOccupancy {
 public:
  // Lives of items to be placed must be among those of `packing`, which is not kept.
  explicit PackingOccupancy(const Packing& packing);

  // The lowest aligned offset, at least `from`, at which `item` meets nothing placed so far.
  int64_t LowestGap(const PackingItem& item, int64_t from = 0);

  // Marks `item` as placed at `offset`. Ranges may overlap.
  void Place(const PackingItem& item, int64_t offset);

 private:
  struct Range {
    int64_t low;
    int64_t high;
  };
  // Moments [first, last).
  struct Span {
    int32_t first;
    int32_t last;
  };
  // Disjoint, not touching each other, ascending.
  using Ranges = std::vector<Range>;

  static void Add(Ranges& ranges, Range added);
  Span Life(const PackingItem& item) const;
  // Calls visitor(node, true) for the largest nodes inside `life`, visitor(node, false) for all
  // above these. `life` must meet `within`, the span of `node`.
  template <typename Visitor>
  static void Visit(Span life, Visitor&& visitor, int32_t node, Span within);

  std::vector<int32_t> moments_;  // distinct begins, ascending
  int32_t leaves_ = 1;            // a power of two
  std::vector<Ranges> covered_;   // by node, the root is 1
  std::vector<Ranges> touched_;
  std::vector<const Ranges*> found_;
  std::vector<size_t> cursors_;
};

// `offset` or the next multiple of `alignment` above it.
inline int64_t AlignUp(int64_t offset, int64_t alignment) {
  return alignment <= 1 ? offset : (offset + alignment - 1) / alignment * alignment;
}

}  // namespace plimsoll::plan
