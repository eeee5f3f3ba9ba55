#pragma once

#include <cstdint>
#include <limits>

#include "graph/dims/polynomial.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::graph {

// What symbols with a name are at least; those without a name are at least 0.
enum class SymbolsFrom : int64_t { kZero = 0, kOne = 1 };

// The numbers that an expression can come to; the two ends of int64_t stand for "no bound".
struct Interval {
  static constexpr int64_t kNoLeast = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kNoMost = kSaturated;

  int64_t least = kNoLeast;
  int64_t most = kNoMost;
};

int64_t FloorDivide(int64_t a, int64_t b);
int64_t FloorModulo(int64_t a, int64_t b);

Interval RangeOf(const Dim& dim, SymbolsFrom from);

// True only where the expression is at least 0 for all symbols. The search is bounded, so false
// means that nothing is known.
bool NeverNegative(const Dim& dim, SymbolsFrom from);

}  // namespace plimsoll::graph
