// How a PackingSearch branches: which item it tries next.
#include <limits>
#include <span>

#include "plan/packing/packing_search.h"

namespace plimsoll::plan {

int32_t PackingSearch::Choose(const Part& part) {
  if (pick_ == Pick::kFewest || pick_ == Pick::kTroubled) {
    const int32_t item = ChooseFewest(part);
    if (item != kNone) return item;
  }
  return ChooseLowest(part);
}

int32_t PackingSearch::ChooseFewest(const Part& part) {
  ++choice_;
  int32_t chosen = kNone;
  double fewest = std::numeric_limits<double>::max();
  for (int32_t s = part.first; s < part.last; ++s) {
    // What comes next in the section carries all that waits there.
    const int64_t highest = limits_.capacity - remaining_[s];
    const double weight = pick_ == Pick::kTroubled ? failures_[s] : 1;
    const double too_many = fewest * weight;
    int32_t count = 0;
    int32_t first = kNone;
    for (int32_t item : std::span(in_section_[s]).first(waiting_in_[s])) {
      if (bound_[item] > highest) continue;
      if (++count >= too_many) break;
      if (!excluded_[item] && (first == kNone || rank_[item] < rank_[first])) first = item;
    }
    if (first == kNone || count >= too_many || buried_in_[first] == choice_) continue;
    if (!NothingFitsBelow(first)) {
      buried_in_[first] = choice_;
      continue;
    }
    fewest = count / weight;
    chosen = first;
    if (count == 1) break;
  }
  return chosen;
}

bool PackingSearch::NothingFitsBelow(int32_t item) const {
  for (int32_t other : packing_.Overlaps(item)) {
    if (!placed_[other] && bound_[other] + size_[other] <= floor_[item]) return false;
  }
  return true;
}

int32_t PackingSearch::ChooseLowest(const Part& part) const {
  int64_t lowest = kNever;
  int32_t chosen = kNone;
  for (size_t w = part.begin; w < part.end; ++w) {
    const int32_t item = waiting_[w];
    if (excluded_[item] || floor_[item] >= lowest) continue;
    lowest = floor_[item];
    chosen = item;
  }
  if (pick_ == Pick::kSequence || chosen == kNone) return chosen;
  int64_t most = -1;
  int32_t tightest = 0;
  const auto at_lowest = [&](int32_t item) { return !excluded_[item] && floor_[item] == lowest; };
  for (size_t w = part.begin; w < part.end; ++w) {
    if (!at_lowest(waiting_[w])) continue;
    const SectionedItem& item = packing_.items[waiting_[w]];
    for (int32_t s = item.first; s < item.last; ++s) {
      if (remaining_[s] < most || (remaining_[s] == most && s >= tightest)) continue;
      most = remaining_[s];
      tightest = s;
    }
  }
  for (size_t w = part.begin; w < part.end; ++w) {
    const SectionedItem& item = packing_.items[waiting_[w]];
    if (at_lowest(waiting_[w]) && item.first <= tightest && tightest < item.last) {
      return waiting_[w];
    }
  }
  return chosen;
}

}  // namespace plimsoll::plan
