#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/packing/packing.h"

namespace plimsoll::bench {

// A kind of packing that is known to fit; every seed gives another.
struct PackFamily {
  std::string name;
  int items = 0;  // 0: differs from seed to seed
  plan::Packing (*make)(const PackFamily& family, uint64_t seed) = nullptr;
  double cut_time = 0;
  double shrink = 0;
};

// What every family of this file is cut from or simulated in, in bytes.
inline constexpr int64_t kFamilyCapacity = int64_t{1024} * 1024;

// Full rectangles cut straight: 100, 200 and 400 items; lives from long to short; half of the
// families with pieces that give up room.
std::vector<PackFamily> CutFamilies();

// What accelerators' scratchpads and MiniMalloc's benchmark look like: cut rectangles of which some
// pieces were taken out, even pieces of which many were, pinwheels, many equal sizes, and long and
// short lives mixed.
std::vector<PackFamily> AcceleratorFamilies();

}  // namespace plimsoll::bench
