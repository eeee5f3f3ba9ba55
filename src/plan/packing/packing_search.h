#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "plan/packing/exact_packing.h"
#include "plan/packing/packing_refutations.h"
#include "plan/packing/packing_sections.h"

namespace plimsoll::plan {

// Decides whether a sectioned packing fits into a capacity. Depth first: items are placed at
// their floors, so each lies on what was placed before: one of the waiting items under which
// nothing else can come to lie is placed at its floor, or, once that is refuted, excluded from
// there. Items at the lowest floor of all are always such. Where little room is to spare, few items
// can come next in a section, and branching where the fewest can finds mistakes soonest.
//
// Excluding helps: an excluded item must later be kept from its floor by a waiting neighbour that
// begins below its top there (else it could just sink), and then stands on that neighbour. So
// floors of excluded items rise, and in each section the floors and sizes of what waits bound the
// height.
//
// Refuted states may be kept from one run to the next, so that restarts learn. One thread. Each
// step costs about the number of items that overlap the placed one.
class PackingSearch {
 public:
  enum class Outcome { kFound, kRefuted, kSpent };
  // Which of the items is tried first. Those at the lowest floor:
  enum class Pick {
    kSequence,  // the first in the sequence
    kTightest,  // the first in the sequence of those in the section with most bytes waiting
    // Any:
    kFewest,  // the first in the sequence of those in the section where the fewest can come next
    // The same, a section that has often failed in earlier steps and runs counting for so much
    // less.
    kTroubled,
  };
  struct Limits {
    int64_t capacity = 0;  // in units of the packing
    int64_t steps = 0;
    std::optional<std::chrono::steady_clock::time_point> deadline;
    const std::atomic<bool>* stop = nullptr;
  };

  // Keeps a reference to `packing`.
  PackingSearch(const SectionedPacking& packing, const ExactTechniques& techniques);

  // `sequence` holds every item's index once. Adds to `refutations`, which must come from runs with
  // no less capacity.
  Outcome Run(const std::vector<int32_t>& sequence, Pick pick, const Limits& limits,
              PackingRefutations& refutations);

  // Of the last run: steps it took; whether its deadline cut it; offsets by item when it found.
  int64_t steps() const { return steps_; }
  bool deadline_hit() const { return deadline_hit_; }
  const std::vector<int64_t>& offsets() const { return floor_; }

 private:
  static constexpr int32_t kNone = -1;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // What can be solved separately: sections [first, last) and the items waiting there, which are
  // waiting_[begin, end) in order of the sequence.
  struct Part {
    int32_t first;
    int32_t last;
    size_t begin;
    size_t end;
  };
  enum class Change : uint8_t { kFloor, kBound, kExcluded, kPlaced };
  struct Stacked {
    int64_t bound;
    int32_t item;
  };
  struct Undo {
    Change change;
    int32_t index;
    int64_t old;
  };

  bool Solve(const Part& part);
  bool SolveParts(const Part& whole);
  int32_t Choose(const Part& part);
  int32_t ChooseLowest(const Part& part) const;
  int32_t ChooseFewest(const Part& part);
  bool NothingFitsBelow(int32_t item) const;
  bool Place(int32_t item);
  void Exclude(int32_t item, const Part& part);
  bool Propagate(const Part& part);
  bool RaiseExcluded(const Part& part);
  bool SectionsFit(const Part& part);
  bool SectionFits(int32_t section);
  bool RaiseNotFirst(int32_t section);
  void Blame(const SectionedItem& item);
  void ForgetDirty();
  void MarkDirty(const SectionedItem& item);
  void TakeFromSection(int32_t section, int32_t item);
  bool Late() const;  // behind the deadline, or stopped
  bool OutOfEffort();
  void Set(Change change, int32_t index, int64_t value);
  void Rewind(size_t mark);
  PackingFingerprint Fingerprint(const Part& part) const;

  const SectionedPacking& packing_;
  const ExactTechniques techniques_;

  std::vector<int64_t> floor_;      // by item: its offset once placed, else where it would land now
  std::vector<int64_t> bound_;      // by item: at least its floor, and no placement has it lower
  std::vector<int8_t> excluded_;    // by item: refuted at its present floor, so its bound is higher
  std::vector<int8_t> placed_;      // by item
  std::vector<int32_t> blocker_;    // by item: what last explained the bound of an excluded item
  std::vector<int64_t> size_;       // by item
  std::vector<int64_t> remaining_;  // by section: bytes waiting
  std::vector<int32_t> crossing_;   // by section: waiting items that also live in the one before
  // By section: its items, those that wait first, nearly sorted by bound; then those that were
  // placed, the last of them first.
  std::vector<std::vector<int32_t>> in_section_;
  std::vector<int32_t> waiting_in_;  // by section: how many of these wait
  // Sections whose fit must be checked again: those of [dirty_first_, dirty_last_) that bear the
  // present mark.
  int32_t dirty_first_ = 0;
  int32_t dirty_last_ = 0;
  std::vector<uint32_t> dirty_;  // by section
  uint32_t dirty_mark_ = 0;
  bool raised_ = false;  // a section raised a bound since this was reset

  std::vector<Stacked> stack_;  // what waits in one section, while it is checked

  std::vector<double> failures_;  // by section: 1 and how often it failed, in this run and earlier
  uint64_t choice_ = 0;           // number of the present choice
  std::vector<uint64_t> buried_in_;  // by item: the last choice in which something fits below it

  std::vector<Undo> trail_;
  std::vector<int32_t> waiting_;
  std::vector<int32_t> rank_;  // by item: its place in the sequence
  PackingRefutations* refutations_ = nullptr;
  Pick pick_ = Pick::kSequence;
  Limits limits_;
  int64_t steps_ = 0;
  bool spent_ = false;
  bool deadline_hit_ = false;
};

}  // namespace plimsoll::plan
