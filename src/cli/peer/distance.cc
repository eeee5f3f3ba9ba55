#include "cli/peer/distance.h"

#include <cmath>
#include <limits>

#include "kernels/element_types.h"

namespace plimsoll::cli {

double RelativeDistance(const kernels::HostTensor& got, const kernels::HostTensor& expected) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (got.type != expected.type || got.dims != expected.dims) return kFar;
  double difference = 0;
  double length = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double a = kernels::LoadDouble(got.type, got.data.get(), i);
    const double b = kernels::LoadDouble(expected.type, expected.data.get(), i);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(b)) length += b * b;
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b)) return kFar;
    difference += (a - b) * (a - b);
    length += b * b;
  }
  if (difference == 0) return 0;
  return length == 0 ? kFar : std::sqrt(difference / length);
}

}  // namespace plimsoll::cli
