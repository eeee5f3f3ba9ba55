#pragma once

#include <cstdint>
#include <string_view>

#include "plan/packing/packing.h"

namespace plimsoll::plan {

// What a greedy packer places first. Ties go to the larger size, then to the earlier begin, then to
// the lower index, so that every order is total.
enum class GreedyOrder {
  kSize,     // the largest
  kBreadth,  // the one whose life meets the largest live sum
  kArea,     // the largest size times length of life
  kLength,   // the longest life
  kStart,    // the earliest begin: what an online allocator does
  kEnd,      // the latest end: an online allocator with time running backwards
};

inline constexpr GreedyOrder kGreedyOrders[] = {GreedyOrder::kSize,  GreedyOrder::kBreadth,
                                                GreedyOrder::kArea,  GreedyOrder::kLength,
                                                GreedyOrder::kStart, GreedyOrder::kEnd};

std::string_view Name(GreedyOrder order);

// The largest sum of sizes live at one moment, and no less than the top of any fixed item: no
// placement is lower. O(n log n) time, O(n) memory.
int64_t PackingLowerBound(const Packing& packing);

// The items' indices in that order.
std::vector<int32_t> GreedySequence(const Packing& packing, GreedyOrder order);

// Places one item after the other, each into the lowest gap that holds it for its whole life. Fixed
// items stand first; two fixed items that collide are the caller's to refuse. Always finds a
// placement; `optimal` when its height is the lower bound. Any number of threads at once. Near
// O(n log n) in time and memory: overlaps are never listed.
PackingAnswer PackGreedy(const Packing& packing, GreedyOrder order);

// The lowest of PackGreedy's placements, of equals the one of the earlier order. Stops early at one
// that is optimal or, with `capacity` not negative, no higher than that.
PackingAnswer PackBestGreedy(const Packing& packing, int64_t capacity = -1);

// As PackGreedy with an order of the caller's own: all indices of `packing`, each once. Leaves
// `lower_bound` and `optimal` unset.
PackingAnswer PackInSequence(const Packing& packing, const std::vector<int32_t>& sequence);

}  // namespace plimsoll::plan
