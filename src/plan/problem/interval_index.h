#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace plimsoll::plan {

// Half-open intervals with a number each, to find those that meet a given one. Immutable once
// built; a search costs O(log n) and what it finds.
class IntervalIndex {
 public:
  struct Entry {
    int64_t begin;
    int64_t end;
    uint32_t number;
  };

  explicit IntervalIndex(std::vector<Entry> entries) : entries_(std::move(entries)) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.number) < std::pair(b.begin, b.number);
    });
    leaves_ = std::bit_ceil(std::max<size_t>(entries_.size(), 1));
    latest_end_.assign(2 * leaves_, INT64_MIN);
    for (size_t i = 0; i < entries_.size(); ++i) latest_end_[leaves_ + i] = entries_[i].end;
    for (size_t node = leaves_ - 1; node > 0; --node) {
      latest_end_[node] = std::max(latest_end_[2 * node], latest_end_[2 * node + 1]);
    }
  }

  // Calls visit(number) for every interval that meets [begin, end).
  template <typename Visit>
  void Meeting(int64_t begin, int64_t end, Visit&& visit) const {
    if (begin < end) Descend(begin, end, visit, 1, 0, leaves_);
  }

 private:
  template <typename Visit>
  void Descend(int64_t begin, int64_t end, Visit& visit, size_t node, size_t first,
               size_t last) const {
    if (first >= entries_.size() || latest_end_[node] <= begin || entries_[first].begin >= end) {
      return;
    }
    if (last - first == 1) return visit(entries_[first].number);
    const size_t middle = (first + last) / 2;
    Descend(begin, end, visit, 2 * node, first, middle);
    Descend(begin, end, visit, 2 * node + 1, middle, last);
  }

  std::vector<Entry> entries_;  // ascending begins
  size_t leaves_ = 1;
  std::vector<int64_t> latest_end_;  // by node of a tree over entries_
};

}  // namespace plimsoll::plan
