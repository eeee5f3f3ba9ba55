#include "cli/peer/distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/element_types.h"

namespace plimsoll::cli {

namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

// Calls with each pair of elements that are numbers. False where the two cannot be compared.
template <typename Visit>
bool ForEachPair(const kernels::HostTensor& got, const kernels::HostTensor& expected,
                 const Visit& visit) {
  if (got.type != expected.type || got.dims != expected.dims) return false;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double a = kernels::LoadDouble(got.type, got.data.get(), i);
    const double b = kernels::LoadDouble(expected.type, expected.data.get(), i);
    if (std::isfinite(a) && std::isfinite(b)) {
      visit(a, b);
    } else if (a != b && !(std::isnan(a) && std::isnan(b))) {
      return false;
    }
  }
  return true;
}

}  // namespace

double RelativeDistance(const kernels::HostTensor& got, const kernels::HostTensor& expected) {
  double difference = 0;
  double length = 0;
  const bool comparable = ForEachPair(got, expected, [&](double a, double b) {
    difference += (a - b) * (a - b);
    length += b * b;
  });
  if (!comparable) return kFar;
  if (difference == 0) return 0;
  return length == 0 ? kFar : std::sqrt(difference / length);
}

double LargestDifference(const kernels::HostTensor& got, const kernels::HostTensor& expected) {
  double largest = 0;
  const bool comparable = ForEachPair(
      got, expected, [&](double a, double b) { largest = std::max(largest, std::abs(a - b)); });
  return comparable ? largest : kFar;
}

}  // namespace plimsoll::cli
