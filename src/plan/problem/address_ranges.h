#pragma once

#include <cstdint>
#include <span>

namespace plimsoll::plan {

// Addresses [low, high). `Height` is uint32_t or int64_t.
template <typename Height>
struct AddressRange {
  Height low;
  Height high;
};

// Address ranges, ascending, disjoint and not touching each other. A single one is kept in place:
// of the millions that a large packing needs, many hold no more. One thread.
template <typename Height>
class AddressRanges {
 public:
  using Range = AddressRange<Height>;

  AddressRanges() : single_{} {}
  AddressRanges(const AddressRanges&) = delete;
  AddressRanges& operator=(const AddressRanges&) = delete;
  AddressRanges(AddressRanges&& other) noexcept;
  AddressRanges& operator=(AddressRanges&&) = delete;
  ~AddressRanges();

  std::span<const Range> ranges() const { return {data(), size_}; }
  bool empty() const { return size_ == 0; }
  uint32_t size() const { return size_; }

  // Joins `added` with what it meets or touches; whether that changed anything. Linear in what lies
  // above it.
  bool Add(Range added);

  // Counts the narrower half of the gaps between the ranges as taken.
  void DropNarrowGaps();

 private:
  const Range* data() const { return capacity_ == 1 ? &single_ : many_; }
  Range* data() { return capacity_ == 1 ? &single_ : many_; }
  void Insert(uint32_t at, Range added);

  uint32_t size_ = 0;
  uint32_t capacity_ = 1;  // 1: the range is in place
  union {
    Range single_;
    Range* many_;  // owned
  };
};

}  // namespace plimsoll::plan
