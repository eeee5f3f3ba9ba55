#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/packing/packing.h"

namespace plimsoll::bench {

// A kind of lives and sizes whose least height nobody knows: what a planner meets besides the
// families that it was tuned on. Every seed gives another packing.
struct PackShape {
  std::string name;
  plan::Packing (*make)(uint64_t seed) = nullptr;
};

// Staircases, nested lives, powers of two, lives that all meet in the middle, a transformer's
// inference, and a network with skip connections.
std::vector<PackShape> PackShapes();

}  // namespace plimsoll::bench
