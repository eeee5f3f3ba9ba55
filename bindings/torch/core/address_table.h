#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "plimsoll/device/device.h"

namespace plimsoll::pytorch {

// Blocks by their address: open addressing, so that a look-up is one hash and, most often, one
// cache line, and no heap call but when the table doubles. `Entry` has a member `address` that is
// not 0. One thread at a time.
template <typename Entry>
class AddressTable {
 public:
  AddressTable() : slots_(kFirstSlots) {}

  size_t size() const { return size_; }

  // The address must not be in the table.
  void Insert(const Entry& entry) {
    assert(entry.address != 0 && Find(entry.address) == nullptr);
    if ((size_ + 1) * 2 > slots_.size()) Double();
    slots_[FreeSlot(entry.address)] = entry;
    ++size_;
  }

  Entry* Find(device::Address address) {
    for (size_t at = Home(address); slots_[at].address != 0; at = Next(at)) {
      if (slots_[at].address == address) return &slots_[at];
    }
    return nullptr;
  }

  // What Find gave. Entries behind it move up, so that no search has to step over holes.
  void Remove(Entry* entry) {
    auto hole = static_cast<size_t>(entry - slots_.data());
    for (size_t at = Next(hole); slots_[at].address != 0; at = Next(at)) {
      const size_t home = Home(slots_[at].address);
      if (((at - home) & Mask()) < ((at - hole) & Mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = Entry();
    --size_;
  }

  template <typename Visitor>
  void ForEach(const Visitor& visit) const {
    for (const Entry& entry : slots_) {
      if (entry.address != 0) visit(entry);
    }
  }

 private:
  static constexpr size_t kFirstSlots = 1024;

  size_t Mask() const { return slots_.size() - 1; }
  size_t Next(size_t at) const { return (at + 1) & Mask(); }
  // Addresses are multiples of 512, often of 2 MiB: the product spreads their upper bits.
  size_t Home(device::Address address) const {
    constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
    return static_cast<size_t>((address * kSpread) >> 32) & Mask();
  }
  size_t FreeSlot(device::Address address) const {
    size_t at = Home(address);
    while (slots_[at].address != 0) at = Next(at);
    return at;
  }
  void Double() {
    std::vector<Entry> old = std::exchange(slots_, std::vector<Entry>(slots_.size() * 2));
    for (const Entry& entry : old) {
      if (entry.address != 0) slots_[FreeSlot(entry.address)] = entry;
    }
  }

  std::vector<Entry> slots_;
  size_t size_ = 0;
};

}  // namespace plimsoll::pytorch
