#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll::plan {

// The fingerprint of a set of waiting items and their floors, independent of the order in which
// items are added. 128 bits: a mistaken match would spoil a proof.
struct PackingFingerprint {
  uint64_t low = 0;
  uint64_t high = 0;

  void Add(uint64_t item, uint64_t floor) {
    const uint64_t mixed = Mix(item * 0x9e3779b97f4a7c15u + floor);
    low += mixed;
    high += Mix(mixed ^ 0xd6e8feb86659fd93u);
  }
  bool operator==(const PackingFingerprint&) const = default;

 private:
  static uint64_t Mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
  }
};

// States from which the search has proven that no placement exists. Bounded: once full, a new state
// takes the slot of an older one. One thread.
class PackingRefutations {
 public:
  bool Contains(const PackingFingerprint& state) const {
    return !slots_.empty() && slots_[Slot(state)] == state;
  }
  void Insert(const PackingFingerprint& state);

 private:
  size_t Slot(const PackingFingerprint& state) const { return state.low & (slots_.size() - 1); }

  std::vector<PackingFingerprint> slots_;  // a power of two
  size_t inserted_ = 0;
};

}  // namespace plimsoll::plan
