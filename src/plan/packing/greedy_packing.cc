#include "plan/packing/greedy_packing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/packing/packing_occupancy.h"
#include "plan/packing/packing_unit.h"

namespace plimsoll::plan {
namespace {

// Live sums as a step function: from `time` on, `sum` bytes live.
struct LiveSum {
  int32_t time;
  int64_t sum;
};

std::vector<LiveSum> LiveSums(const Packing& packing) {
  std::vector<LiveSum> changes;
  changes.reserve(2 * packing.items.size());
  for (const PackingItem& item : packing.items) {
    if (!TakesRoom(item)) continue;
    changes.push_back({item.begin, item.size});
    changes.push_back({item.end, -item.size});
  }
  std::sort(changes.begin(), changes.end(),
            [](const LiveSum& a, const LiveSum& b) { return a.time < b.time; });
  std::vector<LiveSum> sums;
  int64_t live = 0;
  for (const LiveSum& change : changes) {
    live += change.sum;
    if (!sums.empty() && sums.back().time == change.time) {
      sums.back().sum = live;
    } else {
      sums.push_back({change.time, live});
    }
  }
  return sums;
}

// For each item the largest live sum during its life, from a table of maxima over runs of 2^k
// steps.
std::vector<int64_t> Breadths(const Packing& packing) {
  const std::vector<LiveSum> sums = LiveSums(packing);
  std::vector<std::vector<int64_t>> maxima(1);
  for (const LiveSum& sum : sums) maxima[0].push_back(sum.sum);
  for (size_t run = 1; 2 * run <= sums.size(); run *= 2) {
    const std::vector<int64_t>& half = maxima.back();
    std::vector<int64_t> whole(half.size() - run);
    for (size_t i = 0; i < whole.size(); ++i) whole[i] = std::max(half[i], half[i + run]);
    maxima.push_back(std::move(whole));
  }
  const auto step = [&](int32_t time) {
    return static_cast<size_t>(
        std::lower_bound(sums.begin(), sums.end(), time,
                         [](const LiveSum& sum, int32_t t) { return sum.time < t; }) -
        sums.begin());
  };
  std::vector<int64_t> breadths(packing.items.size());
  for (size_t i = 0; i < breadths.size(); ++i) {
    const PackingItem& item = packing.items[i];
    if (!TakesRoom(item)) continue;
    const size_t first = step(item.begin);
    const size_t last = step(item.end);
    size_t level = 0;
    while ((size_t{2} << level) <= last - first) ++level;
    breadths[i] = std::max(maxima[level][first], maxima[level][last - (size_t{1} << level)]);
  }
  return breadths;
}

// What to sort by, descending.
std::vector<double> Priorities(const Packing& packing, GreedyOrder order) {
  std::vector<double> priorities(packing.items.size());
  if (order == GreedyOrder::kBreadth) {
    const std::vector<int64_t> breadths = Breadths(packing);
    std::copy(breadths.begin(), breadths.end(), priorities.begin());
    return priorities;
  }
  for (size_t i = 0; i < priorities.size(); ++i) {
    const PackingItem& item = packing.items[i];
    const double length = static_cast<double>(item.end) - item.begin;
    switch (order) {
      case GreedyOrder::kSize:
      case GreedyOrder::kBreadth:
        break;
      case GreedyOrder::kArea:
        priorities[i] = static_cast<double>(item.size) * length;
        break;
      case GreedyOrder::kLength:
        priorities[i] = length;
        break;
      case GreedyOrder::kStart:
        priorities[i] = -static_cast<double>(item.begin);
        break;
      case GreedyOrder::kEnd:
        priorities[i] = item.end;
        break;
    }
  }
  return priorities;
}

template <typename Height>
PackingAnswer PlaceAll(const Packing& packing, const std::vector<int32_t>& sequence, int64_t unit) {
  PackingOccupancy<Height> occupancy(packing, unit);
  PackingAnswer answer;
  answer.offsets.resize(packing.items.size());
  const auto place = [&](int32_t index, int64_t offset) {
    const PackingItem& item = packing.items[index];
    answer.offsets[index] = offset;
    if (!TakesRoom(item)) return;
    occupancy.Place(index, offset);
    answer.height = std::max(answer.height, offset + item.size);
  };
  for (int32_t index : sequence) {
    if (packing.items[index].fixed >= 0) place(index, packing.items[index].fixed);
  }
  constexpr size_t kAhead = 4;
  for (size_t i = 0; i < sequence.size(); ++i) {
    const int32_t index = sequence[i];
    const PackingItem& item = packing.items[index];
    if (i + kAhead < sequence.size()) occupancy.Prefetch(sequence[i + kAhead]);
    if (item.fixed < 0) place(index, TakesRoom(item) ? occupancy.LowestGap(index) : 0);
  }
  return answer;
}

}  // namespace

std::string_view Name(GreedyOrder order) {
  switch (order) {
    case GreedyOrder::kSize:
      return "size";
    case GreedyOrder::kBreadth:
      return "breadth";
    case GreedyOrder::kArea:
      return "area";
    case GreedyOrder::kLength:
      return "length";
    case GreedyOrder::kStart:
      return "start";
    case GreedyOrder::kEnd:
      return "end";
  }
  return "";
}

int64_t PackingLowerBound(const Packing& packing) {
  int64_t bound = 0;
  for (const LiveSum& sum : LiveSums(packing)) bound = std::max(bound, sum.sum);
  for (const PackingItem& item : packing.items) {
    if (item.fixed >= 0 && TakesRoom(item)) bound = std::max(bound, item.fixed + item.size);
  }
  return bound;
}

std::vector<int32_t> GreedySequence(const Packing& packing, GreedyOrder order) {
  // Everything to sort by lies together: sorting a million indices waits for memory.
  struct Ranked {
    double priority;
    int64_t size;
    int32_t begin;
    int32_t index;
  };
  std::vector<Ranked> ranked;
  ranked.reserve(packing.items.size());
  const std::vector<double> priorities = Priorities(packing, order);
  for (size_t i = 0; i < priorities.size(); ++i) {
    const PackingItem& item = packing.items[i];
    ranked.push_back({priorities[i], item.size, item.begin, static_cast<int32_t>(i)});
  }
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.size != b.size) return a.size > b.size;
    return std::pair(a.begin, a.index) < std::pair(b.begin, b.index);
  });
  std::vector<int32_t> sequence;
  sequence.reserve(ranked.size());
  for (const Ranked& item : ranked) sequence.push_back(item.index);
  return sequence;
}

PackingAnswer PackInSequence(const Packing& packing, const std::vector<int32_t>& sequence) {
  const int64_t unit = CommonUnit(packing);
  return HeightsFit32Bits(packing, unit) ? PlaceAll<uint32_t>(packing, sequence, unit)
                                         : PlaceAll<int64_t>(packing, sequence, unit);
}

PackingAnswer PackGreedy(const Packing& packing, GreedyOrder order) {
  PackingAnswer answer = PackInSequence(packing, GreedySequence(packing, order));
  answer.lower_bound = PackingLowerBound(packing);
  answer.optimal = answer.height == answer.lower_bound;
  return answer;
}

PackingAnswer PackBestGreedy(const Packing& packing, int64_t capacity) {
  PackingAnswer best;
  for (GreedyOrder order : kGreedyOrders) {
    PackingAnswer answer = PackGreedy(packing, order);
    if (order == kGreedyOrders[0] || answer.height < best.height) best = std::move(answer);
    if (best.height <= std::max(best.lower_bound, capacity)) break;
  }
  return best;
}

}  // namespace plimsoll::plan
