#pragma once

#include <vector>

#include "plan/assign/blocks.h"

namespace plimsoll::plan {

// Rectangles of one block that may overlap each other, as the fewest simple bands of addresses
// whose pieces do not: the same bytes at the same moments, each counted once. Where buffers of
// different batches share bytes, the pieces belong to every batch and are marked overstated.
std::vector<Piece> DisjointPieces(std::vector<Piece> overlapping);

}  // namespace plimsoll::plan
