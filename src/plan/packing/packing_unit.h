#pragma once

#include <cstdint>

#include "plan/packing/packing.h"

namespace plimsoll::plan {

inline bool TakesRoom(const PackingItem& item) { return item.size > 0 && item.begin < item.end; }

// The largest number that divides the height of everything that stands on address 0, on another
// item or at its fixed offset: every size, every fixed offset, and every alignment, save those that
// divide it. Items that take no room do not count. O(n).
int64_t CommonUnit(const Packing& packing);

// Whether a uint32_t holds the top of every item, counted in `unit`, wherever each lies on another
// one or is fixed. O(n).
bool HeightsFit32Bits(const Packing& packing, int64_t unit);

}  // namespace plimsoll::plan
