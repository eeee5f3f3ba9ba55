#pragma once

#include <optional>
#include <string>

#include "kernels/host_value.h"

namespace plimsoll::cli {

// The standard's test for numbers: |got - expected| <= atol + rtol * |expected|; NaN equals NaN.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;
};

// Where two values part, as a person would say it: kind, type, shape, or the first wrong element
// with both values. Nothing when they agree.
std::optional<std::string> FirstDifference(const kernels::HostValue& got,
                                           const kernels::HostValue& expected,
                                           const Tolerance& tolerance);

// For outputs that are drawn at random: type and shape must agree, and each element must be one
// that the expected values make possible: zero (nothing drawn), or the expected number where that
// is not zero itself; 0 or 1 where all expected ones are.
std::optional<std::string> FirstImpossible(const kernels::HostValue& got,
                                           const kernels::HostValue& expected,
                                           const Tolerance& tolerance);

}  // namespace plimsoll::cli
