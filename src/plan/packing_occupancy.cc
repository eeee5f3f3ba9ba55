#include "plan/packing_occupancy.h"

#include <algorithm>
#include <bit>

namespace plimsoll::plan {
namespace {

constexpr size_t kMostRanges = 512;

}  // namespace

PackingOccupancy::PackingOccupancy(const Packing& packing) : packing_(packing) {
  std::vector<int32_t> moments;
  moments.reserve(packing.items.size());
  for (const PackingItem& item : packing.items) moments.push_back(item.begin);
  std::sort(moments.begin(), moments.end());
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  const auto moment = [&](int32_t time) {
    return static_cast<int32_t>(std::lower_bound(moments.begin(), moments.end(), time) -
                                moments.begin());
  };
  lives_.reserve(packing.items.size());
  for (const PackingItem& item : packing.items) {
    lives_.push_back({moment(item.begin), moment(item.end)});
  }
  leaves_ = static_cast<int32_t>(std::bit_ceil(std::max<size_t>(moments.size(), 1)));
  covered_.resize(static_cast<size_t>(leaves_));
  touched_.resize(2 * static_cast<size_t>(leaves_));
  gave_up_gaps_.resize(touched_.size());
}

bool PackingOccupancy::Add(Ranges& ranges, Range added) {
  auto first = std::lower_bound(ranges.begin(), ranges.end(), added.low,
                                [](const Range& range, int64_t low) { return range.high < low; });
  if (first != ranges.end() && first->low <= added.low && added.high <= first->high) return false;
  auto last = first;
  while (last != ranges.end() && last->low <= added.high) {
    added.low = std::min(added.low, last->low);
    added.high = std::max(added.high, last->high);
    ++last;
  }
  if (first == last) {
    ranges.insert(first, added);
  } else {
    *first = added;
    ranges.erase(first + 1, last);
  }
  return true;
}

// Counts the narrower half of the gaps as taken.
void PackingOccupancy::DropNarrowGaps(Ranges& ranges) {
  std::vector<int64_t> widths;
  for (size_t i = 1; i < ranges.size(); ++i) widths.push_back(ranges[i].low - ranges[i - 1].high);
  const auto median = widths.begin() + static_cast<ptrdiff_t>(widths.size() / 2);
  std::nth_element(widths.begin(), median, widths.end());
  size_t kept = 0;
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].low - ranges[kept].high <= *median) {
      ranges[kept].high = ranges[i].high;
    } else {
      ranges[++kept] = ranges[i];
    }
  }
  ranges.resize(kept + 1);
}

template <typename Visitor>
void PackingOccupancy::Visit(Span life, Visitor&& visitor, size_t number, Span within) const {
  if (life.first <= within.first && within.last <= life.last) {
    visitor(number, true);
    return;
  }
  visitor(number, false);
  const int32_t middle = within.first + (within.last - within.first) / 2;
  if (life.first < middle) Visit(life, visitor, 2 * number, {within.first, middle});
  if (life.last > middle) Visit(life, visitor, 2 * number + 1, {middle, within.last});
}

int64_t PackingOccupancy::LowestGap(int32_t index) {
  const PackingItem& item = packing_.items[index];
  found_.clear();
  const auto collect = [this](size_t number, bool whole) {
    const Ranges& ranges = whole ? touched_[number] : covered_[number];
    if (!ranges.empty()) found_.push_back(&ranges);
  };
  Visit(lives_[index], collect, 1, {0, leaves_});
  cursors_.assign(found_.size(), 0);
  int64_t offset = 0;
  size_t unmoved = 0;
  for (size_t i = 0; unmoved < found_.size(); i = i + 1 == found_.size() ? 0 : i + 1) {
    const Ranges& ranges = *found_[i];
    size_t& cursor = cursors_[i];
    const int64_t before = offset;
    if (cursor < ranges.size() && ranges[cursor].high <= offset) {
      cursor =
          std::upper_bound(ranges.begin() + static_cast<ptrdiff_t>(cursor), ranges.end(), offset,
                           [](int64_t low, const Range& range) { return low < range.high; }) -
          ranges.begin();
    }
    while (cursor < ranges.size() && ranges[cursor].low < offset + item.size) {
      offset = std::max(offset, AlignUp(ranges[cursor].high, item.alignment));
      ++cursor;
    }
    unmoved = offset == before ? unmoved + 1 : 1;
  }
  return offset;
}

bool PackingOccupancy::Take(Span life, Range range, size_t number, Span within) {
  bool changed = true;
  if (life.first <= within.first && within.last <= life.last) {
    if (number < covered_.size() && Add(covered_[number], range) &&
        covered_[number].size() > kMostRanges) {
      DropNarrowGaps(covered_[number]);
    }
  } else {
    const int32_t middle = within.first + (within.last - within.first) / 2;
    changed = life.first < middle && Take(life, range, 2 * number, {within.first, middle});
    if (life.last > middle) changed |= Take(life, range, 2 * number + 1, {middle, within.last});
  }
  if (!changed) return false;
  if (!Add(touched_[number], range)) return gave_up_gaps_[number];
  if (touched_[number].size() > kMostRanges) {
    DropNarrowGaps(touched_[number]);
    gave_up_gaps_[number] = true;
  }
  return true;
}

void PackingOccupancy::Place(int32_t index, int64_t offset) {
  const Range range{offset, offset + packing_.items[index].size};
  Take(lives_[index], range, 1, {0, leaves_});
}

}  // namespace plimsoll::plan
