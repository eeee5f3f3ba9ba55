#include "plan/packing_occupancy.h"

#include <algorithm>
#include <bit>

namespace plimsoll::plan {

PackingOccupancy::PackingOccupancy(const Packing& packing) {
  moments_.reserve(packing.items.size());
  for (const PackingItem& item : packing.items) moments_.push_back(item.begin);
  std::sort(moments_.begin(), moments_.end());
  moments_.erase(std::unique(moments_.begin(), moments_.end()), moments_.end());
  leaves_ = static_cast<int32_t>(std::bit_ceil(std::max<size_t>(moments_.size(), 1)));
  covered_.resize(2 * leaves_);
  touched_.resize(2 * leaves_);
}

PackingOccupancy::Span PackingOccupancy::Life(const PackingItem& item) const {
  const auto moment = [this](int32_t time) {
    return static_cast<int32_t>(std::lower_bound(moments_.begin(), moments_.end(), time) -
                                moments_.begin());
  };
  return {moment(item.begin), moment(item.end)};
}

void PackingOccupancy::Add(Ranges& ranges, Range added) {
  auto first = std::lower_bound(ranges.begin(), ranges.end(), added.low,
                                [](const Range& range, int64_t low) { return range.high < low; });
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
}

template <typename Visitor>
void PackingOccupancy::Visit(Span life, Visitor&& visitor, int32_t node, Span within) {
  if (life.first <= within.first && within.last <= life.last) {
    visitor(node, true);
    return;
  }
  visitor(node, false);
  const int32_t middle = within.first + (within.last - within.first) / 2;
  if (life.first < middle) Visit(life, visitor, 2 * node, {within.first, middle});
  if (life.last > middle) Visit(life, visitor, 2 * node + 1, {middle, within.last});
}

int64_t PackingOccupancy::LowestGap(const PackingItem& item, int64_t from) {
  found_.clear();
  const auto collect = [this](int32_t node, bool whole) {
    const Ranges& ranges = whole ? touched_[node] : covered_[node];
    if (!ranges.empty()) found_.push_back(&ranges);
  };
  Visit(Life(item), collect, 1, {0, leaves_});
  cursors_.assign(found_.size(), 0);
  int64_t offset = AlignUp(from, item.alignment);
  size_t unmoved = 0;
  for (size_t i = 0; unmoved < found_.size(); i = i + 1 == found_.size() ? 0 : i + 1) {
    const Ranges& ranges = *found_[i];
    size_t& cursor = cursors_[i];
    const int64_t before = offset;
    if (cursor < ranges.size() && ranges[cursor].high <= offset) {
      cursor = std::upper_bound(ranges.begin() + cursor, ranges.end(), offset,
                                [](int64_t o, const Range& range) { return o < range.high; }) -
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

void PackingOccupancy::Place(const PackingItem& item, int64_t offset) {
  const Range range{offset, offset + item.size};
  const auto add = [&](int32_t node, bool whole) {
    if (whole) Add(covered_[node], range);
    Add(touched_[node], range);
  };
  Visit(Life(item), add, 1, {0, leaves_});
}

}  // namespace plimsoll::plan
