#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/packing_search.h"
#include "plan/packing/packing_sections.h"

namespace plimsoll::plan {

// One way to lead a search: which of the items that could be placed next is tried first.
struct PackingStrategy {
  enum class Key {
    kArea,      // size times length of life
    kLength,    // length of life, then size
    kSections,  // size times number of sections
    kWidth,     // number of sections, then size
    kSize,      // size, then number of sections
  };
  PackingSearch::Pick pick = PackingSearch::Pick::kTightest;
  Key key = Key::kArea;
  bool breadth_first = false;  // by the largest live sum that an item meets, then by key
  uint64_t shuffle = 0;        // seed of a perturbation of the key; 0: none
};

// The strategies that take turns, by number; `shuffle` as above. Of some thousand short runs over
// packings of many kinds each solved some that no other did.
PackingStrategy StrategyOf(int64_t number, uint64_t shuffle);
inline constexpr int64_t kPlainStrategies = 10;

// 1, 1, 2, 1, 1, 2, 4, ...: shares of the steps for rounds 0, 1, 2, ... that are never much worse
// than the best share, which nobody knows (Luby, Sinclair and Zuckerman).
int64_t LubyShare(int64_t round);

// Items in the order in which `strategy` prefers them. `lengths` are lives in time, by item.
std::vector<int32_t> StrategySequence(const SectionedPacking& packing,
                                      const std::vector<double>& lengths,
                                      const PackingStrategy& strategy);

}  // namespace plimsoll::plan
