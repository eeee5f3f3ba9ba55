#include "graph/operators/elementwise/element_math.h"

#include <limits>

#include "graph/operators/elementwise/elements.h"

namespace plimsoll::graph::operators {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

bool AreNumbers(const Dim& a, const Dim& b) { return a.is_number() && b.is_number(); }

}  // namespace

std::optional<Dim> Add(const Dim& a, const Dim& b) {
  int64_t sum = 0;
  if (AreNumbers(a, b) && __builtin_add_overflow(a.number(), b.number(), &sum)) return {};
  return a + b;
}

std::optional<Dim> Subtract(const Dim& a, const Dim& b) {
  int64_t difference = 0;
  if (!AreNumbers(a, b)) return a - b;
  if (__builtin_sub_overflow(a.number(), b.number(), &difference)) return {};
  return Dim(difference);
}

std::optional<Dim> Multiply(const Dim& a, const Dim& b) {
  int64_t product = 0;
  if (AreNumbers(a, b) && __builtin_mul_overflow(a.number(), b.number(), &product)) return {};
  return a * b;
}

std::optional<Dim> Divide(const Dim& a, const Dim& b) {
  if (AreNumbers(a, b)) {
    if (b.number() == 0 || (a.number() == kLeast && b.number() == -1)) return {};
    return Dim(a.number() / b.number());
  }
  if (b == Dim(0)) return {};
  if (std::optional<Dim> even = Dim::ExactDiv(a, b)) return even;
  // Exporters divide sizes. `(h - 1) / 2` is one although the term 1 is subtracted, so only the
  // divisor must be certain.
  if (!IsNonNegative(b)) return {};
  return Dim::FloorDiv(a, b);
}

std::optional<Dim> Remainder(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return {};
  return Dim::Mod(a, b);
}

std::optional<Dim> TruncatedRemainder(const Dim& a, const Dim& b) {
  if (b == Dim(0)) return {};
  if (AreNumbers(a, b)) return b.number() == -1 ? Dim(0) : Dim(a.number() % b.number());
  if (!IsNonNegative(a) || !IsNonNegative(b)) return {};
  return Dim::Mod(a, b);
}

std::optional<Dim> Power(const Dim& base, const Dim& exponent) {
  constexpr int64_t kMostFactors = 63;
  if (!exponent.is_number() || exponent.number() < 0 || exponent.number() > kMostFactors) return {};
  std::optional<Dim> power = Dim(1);
  for (int64_t i = 0; i < exponent.number() && power; ++i) power = Multiply(*power, base);
  return power;
}

std::optional<Dim> Larger(const Dim& a, const Dim& b) { return Dim::Max(a, b); }

std::optional<Dim> Smaller(const Dim& a, const Dim& b) { return Dim::Min(a, b); }

std::optional<Dim> Negative(const Dim& a) { return Subtract(0, a); }

std::optional<Dim> Absolute(const Dim& a) {
  if (IsNonNegative(a)) return a;
  const std::optional<Dim> opposite = Negative(a);
  return opposite && IsNonNegative(*opposite) ? opposite : std::nullopt;
}

std::optional<Dim> Sign(const Dim& a) {
  if (!a.is_number()) return {};
  return Dim((a.number() > 0) - (a.number() < 0));
}

std::optional<bool> IsEqual(const Dim& a, const Dim& b) {
  if (a == b) return true;
  const std::optional<bool> less = IsLess(a, b);
  const std::optional<bool> greater = IsLess(b, a);
  if (less.value_or(false) || greater.value_or(false)) return false;
  return std::nullopt;
}

std::optional<bool> IsLess(const Dim& a, const Dim& b) {
  if (AreNumbers(a, b)) return a.number() < b.number();
  if (IsNonNegative(a - b)) return false;
  const Dim difference = b - a - 1;
  if (IsNonNegative(difference)) return true;
  return std::nullopt;
}

}  // namespace plimsoll::graph::operators
