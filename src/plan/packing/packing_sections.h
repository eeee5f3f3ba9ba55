#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/packing/packing.h"

namespace plimsoll::plan {

// An item of a packing reduced to what the search needs. Heights count in SectionedPacking::unit.
struct SectionedItem {
  int32_t first = 0;  // sections [first, last)
  int32_t last = 0;
  int64_t size = 0;
  int64_t alignment = 1;
  int64_t fixed = -1;
  int32_t twin = 0;      // the lowest index of an item equal in all of the above
  int32_t original = 0;  // its index in the Packing
};

// A packing with time reduced to its sections: the moments whose live sets lie in no other's. What
// fits in every section fits always. Items that take no room are left out. Immutable once made.
struct SectionedPacking {
  std::vector<SectionedItem> items;
  std::vector<std::vector<int32_t>> live;  // by section, item indices ascending
  int64_t unit = 1;                        // divides every size, fixed offset and alignment above 1

  std::span<const int32_t> Overlaps(int32_t item) const {
    return std::span(overlaps).subspan(overlap_begin[item],
                                       overlap_begin[item + 1] - overlap_begin[item]);
  }

  std::vector<int32_t> overlaps;  // of all items, one after the other
  std::vector<size_t> overlap_begin;
};

// O(n log n + overlaps) time and memory; nothing when there are more than `overlap_limit` of these.
// `scale` false keeps the unit at 1.
std::optional<SectionedPacking> MakeSections(const Packing& packing, bool scale,
                                             size_t overlap_limit);

}  // namespace plimsoll::plan
