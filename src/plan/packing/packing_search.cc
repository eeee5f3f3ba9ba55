#include "plan/packing/packing_search.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <span>

#include "plan/packing/packing_occupancy.h"

namespace plimsoll::plan {
namespace {

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
      in_section_(packing.live),
      dirty_(packing.live.size()),
      failures_(packing.live.size(), 1),
      buried_in_(packing.items.size()) {
  for (const std::vector<int32_t>& items : in_section_) {
    waiting_in_.push_back(static_cast<int32_t>(items.size()));
  }
  for (size_t i = 0; i < packing_.items.size(); ++i) {
    const SectionedItem& item = packing_.items[i];
    size_.push_back(item.size);
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
  ForgetDirty();
  for (size_t i = 0; i < packing_.items.size(); ++i) {
    MarkDirty(packing_.items[i]);
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

bool PackingSearch::Place(int32_t item) {
  const SectionedItem& placed = packing_.items[item];
  const int64_t top = floor_[item] + placed.size;
  ForgetDirty();
  MarkDirty(placed);
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
  ForgetDirty();
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
      if (least != kNever) least = AlignUp(least, raised.alignment);
      if (least <= bound_[item]) continue;
      if (least > limits_.capacity - raised.size) {
        Blame(raised);
        return false;
      }
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
  dirty_first_ = std::numeric_limits<int32_t>::max();
  dirty_last_ = 0;
  for (int32_t s = first; s < last; ++s) {
    if (dirty_[s] != dirty_mark_) continue;
    dirty_[s] = 0;
    if (highest + remaining_[s] > limits_.capacity && !SectionFits(s)) {
      ++failures_[s];
      return false;
    }
  }
  return true;
}

// Items stack in a section as jobs on one machine: none starts below its bound, so the highest k
// bounds carry the sizes of these k items on top of the lowest of them.
bool PackingSearch::SectionFits(int32_t section) {
  const std::span<int32_t> items(in_section_[section].data(), waiting_in_[section]);
  stack_.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const Stacked moving{bound_[items[i]], items[i]};
    size_t j = i;
    for (; j > 0 && stack_[j - 1].bound > moving.bound; --j) stack_[j] = stack_[j - 1];
    stack_[j] = moving;
  }
  int64_t above = 0;
  bool fits = true;
  for (size_t i = items.size(); i > 0; --i) {
    items[i - 1] = stack_[i - 1].item;
    above += size_[stack_[i - 1].item];
    const bool counts = techniques_.section_bound || i == 1;
    if (counts && stack_[i - 1].bound + above > limits_.capacity) fits = false;
  }
  return fits && (!techniques_.not_first || RaiseNotFirst(section));
}

// The item that comes next carries all that waits in the section. What begins too high for that
// stands on one that does not. `stack_` holds what waits in the section.
bool PackingSearch::RaiseNotFirst(int32_t section) {
  const int64_t highest = limits_.capacity - remaining_[section];
  int64_t least = kNever;
  size_t i = 0;
  for (; i < stack_.size() && stack_[i].bound <= highest; ++i) {
    least = std::min(least, stack_[i].bound + size_[stack_[i].item]);
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

// One failure, in all sections of `item` together.
void PackingSearch::Blame(const SectionedItem& item) {
  const double share = 1.0 / (item.last - item.first);
  for (int32_t s = item.first; s < item.last; ++s) failures_[s] += share;
}

void PackingSearch::ForgetDirty() {
  ++dirty_mark_;
  dirty_first_ = std::numeric_limits<int32_t>::max();
  dirty_last_ = 0;
}

void PackingSearch::MarkDirty(const SectionedItem& item) {
  dirty_first_ = std::min(dirty_first_, item.first);
  dirty_last_ = std::max(dirty_last_, item.last);
  std::fill(dirty_.begin() + item.first, dirty_.begin() + item.last, dirty_mark_);
}

// Places are undone in reverse, so an item that is put behind those that wait is the next to come
// back.
void PackingSearch::TakeFromSection(int32_t section, int32_t item) {
  int32_t* const items = in_section_[section].data();
  int32_t* const last = items + --waiting_in_[section];
  int32_t* const found = std::find(items, last, item);
  std::copy(found + 1, last + 1, found);
  *last = item;
}

bool PackingSearch::Late() const {
  if (limits_.stop != nullptr && limits_.stop->load(std::memory_order_relaxed)) return true;
  return limits_.deadline && std::chrono::steady_clock::now() >= *limits_.deadline;
}

bool PackingSearch::OutOfEffort() {
  if (steps_ == limits_.steps) {
    spent_ = true;
  } else if (steps_ % kStepsBetweenClockReads == 0 && Late()) {
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
      MarkDirty(item);
      break;
    case Change::kExcluded:
      trail_.push_back({change, index, excluded_[index]});
      excluded_[index] = static_cast<int8_t>(value);
      break;
    case Change::kPlaced:
      trail_.push_back({change, index, 0});
      placed_[index] = 1;
      for (int32_t s = item.first; s < item.last; ++s) {
        remaining_[s] -= item.size;
        TakeFromSection(s, index);
      }
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
        for (int32_t s = item.first; s < item.last; ++s) {
          remaining_[s] += item.size;
          ++waiting_in_[s];
        }
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
