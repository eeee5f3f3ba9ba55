#include "plan/packing/packing_occupancy.h"

#include <algorithm>
#include <bit>

namespace plimsoll::plan {
namespace {

constexpr size_t kMostRanges = 512;

}  // namespace

template <typename Height>
PackingOccupancy<Height>::PackingOccupancy(const Packing& packing, int64_t unit)
    : packing_(packing), unit_(unit) {
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

template <typename Height>
template <typename Visitor>
void PackingOccupancy<Height>::Visit(Span life, Visitor&& visitor, size_t number,
                                     Span within) const {
  if (life.first <= within.first && within.last <= life.last) {
    visitor(number, true);
    return;
  }
  visitor(number, false);
  const int32_t middle = within.first + (within.last - within.first) / 2;
  if (life.first < middle) Visit(life, visitor, 2 * number, {within.first, middle});
  if (life.last > middle) Visit(life, visitor, 2 * number + 1, {middle, within.last});
}

template <typename Height>
void PackingOccupancy<Height>::Prefetch(int32_t index) const {
  constexpr int kLevels = 10;  // those above are few enough to stay in a cache
  const Span life = lives_[index];
  size_t number = static_cast<size_t>(leaves_) + static_cast<size_t>(life.first);
  size_t last = static_cast<size_t>(leaves_) + static_cast<size_t>(std::max(life.last - 1, 0));
  for (int level = 0; level < kLevels && number > 1; ++level, number /= 2, last /= 2) {
    __builtin_prefetch(&touched_[number]);
    if (number < covered_.size()) __builtin_prefetch(&covered_[number]);
    if (last == number) continue;
    __builtin_prefetch(&touched_[last]);
    if (last < covered_.size()) __builtin_prefetch(&covered_[last]);
  }
}

template <typename Height>
int64_t PackingOccupancy<Height>::LowestGap(int32_t index) {
  const auto size = static_cast<Height>(packing_.items[index].size / unit_);
  const auto alignment = static_cast<Height>(packing_.items[index].alignment / unit_);
  ahead_.clear();
  const auto collect = [this](size_t number, bool whole) {
    const AddressRanges<Height>& taken = whole ? touched_[number] : covered_[number];
    if (!taken.empty()) ahead_.push_back(taken.ranges());
  };
  Visit(lives_[index], collect, 1, {0, leaves_});
  Height offset = 0;
  // Round about, until none of the lists has anything in the way any more.
  size_t unmoved = 0;
  for (size_t i = 0; unmoved < ahead_.size();) {
    const Range* next = ahead_[i].data();
    const Range* const last = next + ahead_[i].size();
    const Height before = offset;
    if (next->high <= offset) {
      next = std::upper_bound(next, last, offset,
                              [](Height low, const Range& range) { return low < range.high; });
    }
    for (; next != last && next->low < offset + size; ++next) {
      offset = std::max(offset, AlignUp(next->high, alignment));
    }
    if (offset != before) unmoved = 0;
    if (next == last) {
      ahead_.erase(ahead_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ahead_[i++] = {next, last};
      ++unmoved;
    }
    if (i == ahead_.size()) i = 0;
  }
  return static_cast<int64_t>(offset) * unit_;
}

template <typename Height>
bool PackingOccupancy<Height>::Take(Span life, Range range, size_t number, Span within) {
  bool changed = true;
  if (life.first <= within.first && within.last <= life.last) {
    if (number < covered_.size() && covered_[number].Add(range) &&
        covered_[number].size() > kMostRanges) {
      covered_[number].DropNarrowGaps();
    }
  } else {
    const int32_t middle = within.first + (within.last - within.first) / 2;
    changed = life.first < middle && Take(life, range, 2 * number, {within.first, middle});
    if (life.last > middle) changed |= Take(life, range, 2 * number + 1, {middle, within.last});
  }
  if (!changed) return false;
  if (!touched_[number].Add(range)) return gave_up_gaps_[number];
  if (touched_[number].size() > kMostRanges) {
    touched_[number].DropNarrowGaps();
    gave_up_gaps_[number] = true;
  }
  return true;
}

template <typename Height>
void PackingOccupancy<Height>::Place(int32_t index, int64_t offset) {
  const Range range{static_cast<Height>(offset / unit_),
                    static_cast<Height>((offset + packing_.items[index].size) / unit_)};
  Take(lives_[index], range, 1, {0, leaves_});
}

template class PackingOccupancy<uint32_t>;
template class PackingOccupancy<int64_t>;

}  // namespace plimsoll::plan
