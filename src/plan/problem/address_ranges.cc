#include "plan/problem/address_ranges.h"

#include <algorithm>
#include <vector>

namespace plimsoll::plan {
namespace {

constexpr uint32_t kFirstCapacity = 4;

}  // namespace

template <typename Height>
AddressRanges<Height>::AddressRanges(AddressRanges&& other) noexcept
    : size_(other.size_), capacity_(other.capacity_) {
  if (capacity_ == 1) {
    single_ = other.single_;
  } else {
    many_ = other.many_;
  }
  other.size_ = 0;
  other.capacity_ = 1;
}

template <typename Height>
AddressRanges<Height>::~AddressRanges() {
  if (capacity_ > 1) delete[] many_;
}

template <typename Height>
bool AddressRanges<Height>::Add(Range added) {
  Range* const begin = data();
  Range* const end = begin + size_;
  Range* const first = std::lower_bound(
      begin, end, added.low, [](const Range& range, Height low) { return range.high < low; });
  if (first != end && first->low <= added.low && added.high <= first->high) return false;
  Range* last = first;
  for (; last != end && last->low <= added.high; ++last) {
    added.low = std::min(added.low, last->low);
    added.high = std::max(added.high, last->high);
  }
  if (first == last) {
    Insert(static_cast<uint32_t>(first - begin), added);
    return true;
  }
  *first = added;
  size_ = static_cast<uint32_t>(std::copy(last, end, first + 1) - begin);
  return true;
}

template <typename Height>
void AddressRanges<Height>::Insert(uint32_t at, Range added) {
  if (size_ == capacity_) {
    const uint32_t capacity = std::max(kFirstCapacity, capacity_ + capacity_ / 2);
    auto* const grown = new Range[capacity];
    std::copy(data(), data() + size_, grown);
    if (capacity_ > 1) delete[] many_;
    many_ = grown;
    capacity_ = capacity;
  }
  Range* const ranges = data();
  std::copy_backward(ranges + at, ranges + size_, ranges + size_ + 1);
  ranges[at] = added;
  ++size_;
}

template <typename Height>
void AddressRanges<Height>::DropNarrowGaps() {
  Range* const ranges = data();
  std::vector<Height> widths;
  for (uint32_t i = 1; i < size_; ++i) widths.push_back(ranges[i].low - ranges[i - 1].high);
  if (widths.empty()) return;
  const auto median = widths.begin() + static_cast<ptrdiff_t>(widths.size() / 2);
  std::nth_element(widths.begin(), median, widths.end());
  uint32_t kept = 0;
  for (uint32_t i = 1; i < size_; ++i) {
    if (ranges[i].low - ranges[kept].high <= *median) {
      ranges[kept].high = ranges[i].high;
    } else {
      ranges[++kept] = ranges[i];
    }
  }
  size_ = kept + 1;
}

template class AddressRanges<uint32_t>;
template class AddressRanges<int64_t>;

}  // namespace plimsoll::plan
