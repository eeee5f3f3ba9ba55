#pragma once

#include <optional>

#include "plimsoll/graph/dim.h"

// Arithmetic on single known elements, as the operators of the standard define it. Nothing where
// the result is not certain: it overflows, divides by zero, or hangs on the value of a symbol.
namespace plimsoll::graph::operators {

std::optional<Dim> Add(const Dim& a, const Dim& b);
std::optional<Dim> Subtract(const Dim& a, const Dim& b);
std::optional<Dim> Multiply(const Dim& a, const Dim& b);
std::optional<Dim> Divide(const Dim& a, const Dim& b);              // rounds towards zero
std::optional<Dim> Remainder(const Dim& a, const Dim& b);           // takes the divisor's sign
std::optional<Dim> TruncatedRemainder(const Dim& a, const Dim& b);  // takes the dividend's sign
std::optional<Dim> Power(const Dim& base, const Dim& exponent);
std::optional<Dim> Larger(const Dim& a, const Dim& b);
std::optional<Dim> Smaller(const Dim& a, const Dim& b);
std::optional<Dim> Negative(const Dim& a);
std::optional<Dim> Absolute(const Dim& a);
std::optional<Dim> Sign(const Dim& a);

std::optional<bool> IsEqual(const Dim& a, const Dim& b);
std::optional<bool> IsLess(const Dim& a, const Dim& b);

}  // namespace plimsoll::graph::operators
