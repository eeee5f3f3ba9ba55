#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <limits>

namespace plimsoll {

// Arithmetic on counts that never wraps: a sum or product that does not fit stays at the largest
// value (or at the smallest), which `Saturated` tells.
inline constexpr int64_t kSaturated = std::numeric_limits<int64_t>::max();

// The sum of both.
constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kSaturated : std::numeric_limits<int64_t>::min();
}

// Their product.
constexpr int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? kSaturated : std::numeric_limits<int64_t>::min();
}

// A number of bytes. Arithmetic saturates, so a chain of sums is checked once, at its end.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t count) : count_(count) {}

  constexpr int64_t value() const { return count_; }
  constexpr bool saturated() const { return count_ == kSaturated; }
  constexpr auto operator<=>(const Bytes&) const = default;

  constexpr Bytes operator+(Bytes other) const {
    return Bytes(SaturatingAdd(count_, other.count_));
  }
  constexpr Bytes operator-(Bytes other) const {
    return Bytes(SaturatingAdd(count_, -other.count_));
  }
  constexpr Bytes operator*(int64_t times) const {
    return Bytes(SaturatingMultiply(count_, times));
  }
  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }
  constexpr Bytes& operator-=(Bytes other) { return *this = *this - other; }

  // The next multiple of `alignment` (a power of two, or any positive number).
  constexpr Bytes RoundUp(int64_t alignment) const {
    assert(alignment > 0);
    const int64_t over = count_ % alignment;
    return over == 0 || saturated() ? *this : *this + Bytes(alignment - over);
  }

 private:
  int64_t count_ = 0;
};

// A place inside a region, counted from its base.
class Offset {
 public:
  constexpr Offset() = default;
  constexpr explicit Offset(int64_t place) : place_(place) {}

  constexpr int64_t value() const { return place_; }
  constexpr auto operator<=>(const Offset&) const = default;
  constexpr Offset operator+(Bytes bytes) const {
    return Offset(SaturatingAdd(place_, bytes.value()));
  }
  constexpr Bytes operator-(Offset other) const {
    return Bytes(SaturatingAdd(place_, -other.place_));
  }

 private:
  int64_t place_ = 0;
};

// So many times 2^10, 2^20 and 2^30 bytes.
constexpr Bytes KiB(int64_t n) { return Bytes(n) * 1024; }
constexpr Bytes MiB(int64_t n) { return KiB(n) * 1024; }
constexpr Bytes GiB(int64_t n) { return MiB(n) * 1024; }

}  // namespace plimsoll
