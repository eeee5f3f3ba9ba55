#include "plan/packing_search.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "plan/packing_occupancy.h"

namespace plimsoll::plan {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int32_t kNone = -1;
constexpr int64_t kStepsBetweenClockReads = 64;

}  // namespace

PackingSearch::PackingSearch(const SectionedPacking& packing, const ExactTechniques& techniques)
    : packing_(packing),
      techniques_(techniques),
      floor_(packing.items.size()),
      bound_(packing.items.size()),
      excluded_(packing.items.size()),
      placed_(packing.items.size()),
      blocker_(packing.items.size(), kNone),
      remaining_(packing.live.size()),
      crossing_(packing.live.size()),
      by_bound_(packing.live) {
  for (size_t i = 0; i < packing_.items.size(); ++i) {
    const SectionedItem& item = packing_.items[i];
    floor_[i] = bound_[i] = std::max<int64_t>(item.fixed, 0);
    for (int32_t s = item.first; s < item.last; ++s) remaining_[s] += item.size;
    for (int32_t s = item.first + 1; s < item.last; ++s) ++crossing_[s];
  }
}

PackingSearch::Outcome PackingSearch::Run(const std::vector<int32_t>& sequence, Pick pick,
                                          const Limits& limits, PackingRefutations& refutations) {
  assert(sequence.size() == packing_.items.size());
  Rewind(0);
  pick_ = pick;
  limits_ = limits;
  refutations_ = &refutations;
  steps_ = 0;
  spent_ = false;
  deadline_hit_ = false;
  waiting_ = sequence;
  rank_.resize(sequence.size());
  for (size_t i = 0; i < sequence.size(); ++i) rank_[sequence[i]] = static_cast<int32_t>(i);
  const Part all{0, static_cast<int32_t>(packing_.live.size()), 0, waiting_.size()};
  dirty_first_ = all.first;
  dirty_last_ = all.last;
  for (size_t i = 0; i < packing_.items.size(); ++i) {
    if (floor_[i] + packing_.items[i].size > limits_.capacity) return Outcome::kRefuted;
  }
  if (SectionsFit(all) && SolveParts(all)) return Outcome::kFound;
  return spent_ ? Outcome::kSpent : Outcome::kRefuted;
}

bool PackingSearch::Solve(const Part& part) {
  PackingFingerprint fingerprint;
  if (techniques_.refutations) {
    fingerprint = Fingerprint(part);
    if (refutations_->Contains(fingerprint)) return false;
  }
  for (int32_t item = Choose(part); item != kNone; item = Choose(part)) {
    if (OutOfEffort()) return false;
    const size_t mark = trail_.size();
    if (Place(item) && Propagate(part) && SolveParts(part)) return true;
    Rewind(mark);
    if (spent_) return false;
    if (packing_.items[item].fixed >= 0) break;
    Exclude(item, part);
    if (!Propagate(part)) break;
  }
  if (techniques_.refutations) refutations_->Insert(fingerprint);
  return false;
}

// Few items first: a small part is solved or refuted in few steps.
bool PackingSearch::SolveParts(const Part& whole) {
  const size_t kept = waiting_.size();
  std::vector<Part> parts;
  int32_t first = whole.first;
  for (int32_t s = whole.first + 1; s <= whole.last; ++s) {
    if (s < whole.last && (crossing_[s] > 0 || !techniques_.decomposition)) continue;
    Part part{first, s, waiting_.size(), 0};
    for (size_t w = whole.begin; w < whole.end; ++w) {
      const int32_t item = waiting_[w];
      const SectionedItem& life = packing_.items[item];
      if (!placed_[item] && life.first >= first && life.last <= s) waiting_.push_back(item);
    }
    part.end = waiting_.size();
    if (part.begin < part.end) parts.push_back(part);
    first = s;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.end - a.begin < b.end - b.begin; });
  const bool solved =
      std::all_of(parts.begin(), parts.end(), [this](const Part& part) { return Solve(part); });
  waiting_.resize(kept);
  return solved;
}

int32_t PackingSearch::Choose(const Part& part) const {
  if (pick_ == Pick::kFewest) {
    const int32_t item = ChooseFewest(part);
    if (item != kNone) return item;
  }
  return ChooseLowest(part);
}

int32_t PackingSearch::ChooseFewest(const Part& part) const {
  int32_t chosen = kNone;
  int32_t fewest = std::numeric_limits<int32_t>::max();
  for (int32_t s = part.first; s < part.last; ++s) {
    // What comes next in the section carries all that waits there.
    const int64_t highest = limits_.capacity - remaining_[s];
    int32_t count = 0;
    int32_t first = kNone;
    for (int32_t item : packing_.live[s]) {
      if (placed_[item] || bound_[item] > highest) continue;
      if (++count == fewest) break;
      if (!excluded_[item] && (first == kNone || rank_[item] < rank_[first])) first = item;
    }
    if (first == kNone || count == fewest || !NothingFitsBelow(first)) continue;
    fewest = count;
    chosen = first;
    if (fewest == 1) break;
  }
  return chosen;
}

bool PackingSearch::NothingFitsBelow(int32_t item) const {
  for (int32_t other : packing_.Overlaps(item)) {
    if (!placed_[other] && bound_[other] + packing_.items[other].size <= floor_[item]) return false;
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

bool PackingSearch::Place(int32_t item) {
  const SectionedItem& placed = packing_.items[item];
  const int64_t top = floor_[item] + placed.size;
  dirty_first_ = placed.first;
  dirty_last_ = placed.last;
  Set(Change::kPlaced, item, 1);
  for (int32_t other : packing_.Overlaps(item)) {
    if (placed_[other] || floor_[other] >= top) continue;
    const SectionedItem& raised = packing_.items[other];
    const int64_t floor = AlignUp(top, raised.alignment);
    if (raised.fixed >= 0 || floor + raised.size > limits_.capacity) return false;
    Set(Change::kFloor, other, floor);
    if (bound_[other] > floor) continue;
    if (bound_[other] < floor) Set(Change::kBound, other, floor);
    if (excluded_[other]) Set(Change::kExcluded, other, 0);
  }
  return true;
}

void PackingSearch::Exclude(int32_t item, const Part& part) {
  dirty_first_ = part.last;
  dirty_last_ = part.first;
  for (size_t w = part.begin; w < part.end; ++w) {
    const int32_t other = waiting_[w];
    if (packing_.items[other].twin != packing_.items[item].twin) continue;
    if (!excluded_[other] && floor_[other] == floor_[item]) Set(Change::kExcluded, other, 1);
  }
}

bool PackingSearch::Propagate(const Part& part) {
  do {
    raised_ = false;
    if (techniques_.exclusion && !RaiseExcluded(part)) return false;
    if (!SectionsFit(part)) return false;
  } while (raised_);
  return true;
}

bool PackingSearch::RaiseExcluded(const Part& part) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t w = part.begin; w < part.end; ++w) {
      const int32_t item = waiting_[w];
      if (!excluded_[item] || placed_[item]) continue;
      const SectionedItem& raised = packing_.items[item];
      const int64_t top = techniques_.dominance ? floor_[item] + raised.size : kNever;
      const auto blocks_until = [&](int32_t other) {
        const bool blocks = !placed_[other] && bound_[other] < top;
        return blocks ? bound_[other] + packing_.items[other].size : kNever;
      };
      if (blocker_[item] != kNone && blocks_until(blocker_[item]) <= bound_[item]) continue;
      int64_t least = kNever;
      for (int32_t other : packing_.Overlaps(item)) {
        const int64_t until = blocks_until(other);
        if (until >= least) continue;
        least = until;
        blocker_[item] = other;
      }
      if (least == kNever) return false;
      least = AlignUp(least, raised.alignment);
      if (least <= bound_[item]) continue;
      if (least + raised.size > limits_.capacity) return false;
      Set(Change::kBound, item, least);
      changed = true;
    }
  }
  return true;
}

bool PackingSearch::SectionsFit(const Part& part) {
  int64_t highest = 0;
  for (size_t w = part.begin; w < part.end; ++w) {
    const int32_t item = waiting_[w];
    if (!placed_[item]) highest = std::max(highest, bound_[item]);
  }
  const int32_t first = std::max(dirty_first_, part.first);
  const int32_t last = std::min(dirty_last_, part.last);
  dirty_first_ = part.last;
  dirty_last_ = part.first;
  for (int32_t s = first; s < last; ++s) {
    if (highest + remaining_[s] > limits_.capacity && !SectionFits(s)) return false;
  }
  return true;
}

// Items stack in a section as jobs on one machine: none starts below its bound, so the highest k
// bounds carry the sizes of these k items on top of the lowest of them.
bool PackingSearch::SectionFits(int32_t section) {
  std::vector<int32_t>& items = by_bound_[section];
  const int64_t highest_of_first = limits_.capacity - remaining_[section];
  if (std::all_of(items.begin(), items.end(), [&](int32_t item) {
        return placed_[item] || bound_[item] <= highest_of_first;
      })) {
    return true;
  }
  stack_.clear();
  size_t done = 0;
  for (int32_t item : items) {
    if (placed_[item]) {
      items[done++] = item;
    } else {
      stack_.push_back({bound_[item], item});
    }
  }
  for (size_t i = 1; i < stack_.size(); ++i) {
    const Stacked moving = stack_[i];
    size_t j = i;
    for (; j > 0 && stack_[j - 1].bound > moving.bound; --j) stack_[j] = stack_[j - 1];
    stack_[j] = moving;
  }
  for (const Stacked& stacked : stack_) items[done++] = stacked.item;
  int64_t above = 0;
  for (size_t i = stack_.size(); i > 0; --i) {
    above += packing_.items[stack_[i - 1].item].size;
    const bool counts = techniques_.section_bound || i == 1;
    if (counts && stack_[i - 1].bound + above > limits_.capacity) return false;
  }
  return !techniques_.not_first || RaiseNotFirst(section);
}

// The item that comes next carries all that waits in the section. What begins too high for that
// stands on one that does not. `stack_` holds what waits in the section.
bool PackingSearch::RaiseNotFirst(int32_t section) {
  const int64_t highest = limits_.capacity - remaining_[section];
  int64_t least = kNever;
  size_t i = 0;
  for (; i < stack_.size() && stack_[i].bound <= highest; ++i) {
    least = std::min(least, stack_[i].bound + packing_.items[stack_[i].item].size);
  }
  for (; i < stack_.size() && stack_[i].bound < least; ++i) {
    const int32_t item = stack_[i].item;
    const SectionedItem& raised = packing_.items[item];
    const int64_t bound = AlignUp(least, raised.alignment);
    if (raised.fixed >= 0 || bound + raised.size > limits_.capacity) return false;
    Set(Change::kBound, item, bound);
    if (!excluded_[item]) Set(Change::kExcluded, item, 1);
    raised_ = true;
  }
  return true;
}

bool PackingSearch::OutOfEffort() {
  if (steps_ == limits_.steps) {
    spent_ = true;
  } else if (limits_.deadline && steps_ % kStepsBetweenClockReads == 0 &&
             std::chrono::steady_clock::now() >= *limits_.deadline) {
    spent_ = deadline_hit_ = true;
  } else {
    ++steps_;
  }
  return spent_;
}

void PackingSearch::Set(Change change, int32_t index, int64_t value) {
  const SectionedItem& item = packing_.items[index];
  switch (change) {
    case Change::kFloor:
      trail_.push_back({change, index, floor_[index]});
      floor_[index] = value;
      break;
    case Change::kBound:
      trail_.push_back({change, index, bound_[index]});
      bound_[index] = value;
      dirty_first_ = std::min(dirty_first_, item.first);
      dirty_last_ = std::max(dirty_last_, item.last);
      break;
    case Change::kExcluded:
      trail_.push_back({change, index, excluded_[index]});
      excluded_[index] = static_cast<int8_t>(value);
      break;
    case Change::kPlaced:
      trail_.push_back({change, index, 0});
      placed_[index] = 1;
      for (int32_t s = item.first; s < item.last; ++s) remaining_[s] -= item.size;
      for (int32_t s = item.first + 1; s < item.last; ++s) --crossing_[s];
      break;
  }
}

void PackingSearch::Rewind(size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const Undo& undo = trail_.back();
    const SectionedItem& item = packing_.items[undo.index];
    switch (undo.change) {
      case Change::kFloor:
        floor_[undo.index] = undo.old;
        break;
      case Change::kBound:
        bound_[undo.index] = undo.old;
        break;
      case Change::kExcluded:
        excluded_[undo.index] = static_cast<int8_t>(undo.old);
        break;
      case Change::kPlaced:
        placed_[undo.index] = 0;
        for (int32_t s = item.first; s < item.last; ++s) remaining_[s] += item.size;
        for (int32_t s = item.first + 1; s < item.last; ++s) ++crossing_[s];
        break;
    }
  }
}

PackingFingerprint PackingSearch::Fingerprint(const Part& part) const {
  PackingFingerprint fingerprint;
  for (size_t w = part.begin; w < part.end; ++w) {
    const int32_t item = waiting_[w];
    fingerprint.Add(static_cast<uint64_t>(packing_.items[item].twin),
                    static_cast<uint64_t>(floor_[item]));
  }
  return fingerprint;
}

}  // namespace plimsoll::plan
