#include "plan/packing/infeasible_packing.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "plan/packing/exact_packing.h"
#include "plan/packing/greedy_packing.h"

namespace plimsoll::plan {
namespace {

using Indices = std::vector<int32_t>;

Packing Subset(const Packing& packing, const Indices& indices) {
  Packing subset;
  for (int32_t index : indices) subset.items.push_back(packing.items[index]);
  return subset;
}

// What lives at the first moment whose live sum is the largest.
Indices LiveAtPeak(const Packing& packing) {
  std::vector<std::pair<int32_t, int64_t>> changes;
  for (const PackingItem& item : packing.items) {
    if (item.begin >= item.end) continue;
    changes.emplace_back(item.begin, item.size);
    changes.emplace_back(item.end, -item.size);
  }
  std::sort(changes.begin(), changes.end());
  int64_t live = 0;
  int64_t most = 0;
  int32_t peak = 0;
  for (const auto& [time, change] : changes) {
    live += change;
    if (live <= most) continue;
    most = live;
    peak = time;
  }
  Indices indices;
  for (size_t i = 0; i < packing.items.size(); ++i) {
    const PackingItem& item = packing.items[i];
    if (item.size > 0 && item.begin <= peak && peak < item.end) {
      indices.push_back(static_cast<int32_t>(i));
    }
  }
  return indices;
}

// Of items that live at one moment and are larger than `capacity` together, a part of which the
// same is true only as long as all of it is there.
Indices LargestBeyond(const Packing& packing, Indices indices, int64_t capacity) {
  std::stable_sort(indices.begin(), indices.end(), [&](int32_t a, int32_t b) {
    return packing.items[a].size < packing.items[b].size;
  });
  int64_t sum = 0;
  for (int32_t index : indices) sum += packing.items[index].size;
  Indices kept;
  for (int32_t index : indices) {
    const int64_t size = packing.items[index].size;
    if (sum - size > capacity) {
      sum -= size;
    } else {
      kept.push_back(index);
    }
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

// Takes items away while what is left still does not fit.
class Reducer {
 public:
  Reducer(const Packing& packing, int64_t capacity, const PackingEffort& effort)
      : packing_(packing), capacity_(capacity), effort_(effort) {}

  bool ProvenTooLarge(const Indices& indices) {
    PackingEffort effort = effort_;
    effort.capacity = capacity_;
    effort.steps = effort_.steps - steps_;
    if (effort_.deadline_ms > 0) {
      const std::chrono::duration<double, std::milli> spent =
          std::chrono::steady_clock::now() - start_;
      effort.deadline_ms = std::max(effort_.deadline_ms - spent.count(), 1e-3);
    }
    const PackingAnswer answer = PackExact(Subset(packing_, indices), effort);
    steps_ += answer.steps;
    unknown_ = !answer.infeasible && answer.height > capacity_;
    return answer.infeasible;
  }

  // The smallest go first: few large items explain more than many small ones.
  InfeasibleSet Reduce(Indices kept) {
    std::stable_sort(kept.begin(), kept.end(), [&](int32_t a, int32_t b) {
      return packing_.items[a].size > packing_.items[b].size;
    });
    InfeasibleSet found;
    found.minimal = true;
    for (size_t group = std::max<size_t>(kept.size() / 2, 1);; group /= 2) {
      for (size_t end = kept.size(); end > 0;) {
        const size_t begin = end > group ? end - group : 0;
        Indices fewer = kept;
        fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(begin),
                    fewer.begin() + static_cast<ptrdiff_t>(end));
        if (ProvenTooLarge(fewer)) {
          kept = std::move(fewer);
        } else if (group == 1 && unknown_) {
          found.minimal = false;
        }
        end = begin;
      }
      if (group == 1) break;
    }
    std::sort(kept.begin(), kept.end());
    found.items = std::move(kept);
    return found;
  }

 private:
  const Packing& packing_;
  const int64_t capacity_;
  const PackingEffort effort_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int64_t steps_ = 0;
  bool unknown_ = false;  // the last question had no answer within the effort
};

}  // namespace

InfeasibleSet FindInfeasibleSet(const Packing& packing, int64_t capacity,
                                const PackingEffort& effort) {
  for (size_t i = 0; i < packing.items.size(); ++i) {
    const PackingItem& item = packing.items[i];
    const bool takes_room = item.size > 0 && item.begin < item.end;
    if (takes_room && std::max<int64_t>(item.fixed, 0) + item.size > capacity) {
      return {{static_cast<int32_t>(i)}, true};
    }
  }
  Reducer reducer(packing, capacity, effort);
  if (PackingLowerBound(packing) > capacity) {
    const Indices kept = LargestBeyond(packing, LiveAtPeak(packing), capacity);
    const bool plain = std::all_of(kept.begin(), kept.end(), [&](int32_t index) {
      return packing.items[index].fixed < 0 && packing.items[index].alignment <= 1;
    });
    return plain ? InfeasibleSet{kept, true} : reducer.Reduce(kept);
  }
  Indices all(packing.items.size());
  std::iota(all.begin(), all.end(), 0);
  return reducer.ProvenTooLarge(all) ? reducer.Reduce(std::move(all)) : InfeasibleSet{};
}

}  // namespace plimsoll::plan
