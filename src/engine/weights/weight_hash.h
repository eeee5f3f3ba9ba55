#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace plimsoll::engine {

// What tells a weight from others by its bytes alone: xxHash of 128 bits. Equal bytes have equal
// hashes; who relies on the reverse compares the bytes, since a hostile model may aim for a clash.
struct WeightHash {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const WeightHash&) const = default;

  std::string Text() const;  // 32 hexadecimal digits
};

// Reads the bytes once; pages of a mapped file are given back on the way.
WeightHash HashOf(std::span<const std::byte> bytes);

}  // namespace plimsoll::engine
