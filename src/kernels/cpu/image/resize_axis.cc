#include "kernels/cpu/image/resize_axis.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::kernels::cpu {
namespace {

// Where in the input the output's place `at` lies. The standard's formulas take the length that
// the scale asks for, which may be a fraction, for the output's.
double OriginalCoordinate(const ResizeMode& mode, const ResizedAxis& axis, int64_t at) {
  const auto x = static_cast<double>(at);
  const auto from = static_cast<double>(axis.from);
  const double length = axis.scale * from;
  const std::string& kind = mode.coordinates;
  if (kind == "asymmetric") return x / axis.scale;
  if (kind == "align_corners") return length == 1 ? 0 : x * (from - 1) / (length - 1);
  if (kind == "pytorch_half_pixel" && length == 1) return 0;
  if (kind == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(axis.to) / length;
    return from / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (kind == "tf_crop_and_resize") {
    const double region = (axis.region_end - axis.region_start) * (from - 1);
    const double inside = axis.to > 1 ? x * region / static_cast<double>(axis.to - 1) : region / 2;
    return axis.region_start * (from - 1) + inside;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

// The place for the nearest sample, by quotients of float32, as other engines take them: where it
// lies between two samples, or on one, the last bit decides.
double CoordinateOfNearest(const ResizeMode& mode, const ResizedAxis& axis, int64_t at) {
  const auto x = static_cast<float>(at);
  const auto scale = static_cast<float>(axis.scale);
  if (mode.coordinates == "asymmetric") return x / scale;
  const double length = axis.scale * static_cast<double>(axis.from);
  const bool whole = std::abs(length - static_cast<double>(axis.to)) < 1e-6 * length;
  if (mode.coordinates == "align_corners" && whole && axis.to > 1) {
    return x * static_cast<float>(axis.from - 1) / static_cast<float>(axis.to - 1);
  }
  const bool half =
      mode.coordinates == "half_pixel" || (mode.coordinates == "pytorch_half_pixel" && length != 1);
  if (half) return (x + 0.5F) / scale - 0.5F;
  return OriginalCoordinate(mode, axis, at);
}

double Nearest(const std::string& rounding, double x) {
  if (rounding == "floor") return std::floor(x);
  if (rounding == "ceil") return std::ceil(x);
  if (rounding == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

// The weight of a sample at a distance from the place that is wanted.
double Filter(const ResizeMode& mode, double distance) {
  const double x = std::abs(distance);
  if (mode.kind == ResizeMode::Kind::kLinear) return std::max(1 - x, 0.0);
  const double a = mode.cubic;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

int64_t ToPlace(double x) {
  constexpr double kFar = 1e15;
  return static_cast<int64_t>(std::clamp(std::isnan(x) ? 0 : x, -kFar, kFar));
}

}  // namespace

bool AxisWeights::IsIdentity(const ResizedAxis& axis) const {
  if (axis.from != axis.to) return false;
  for (int64_t i = 0; i < axis.to; ++i) {
    if (outside[i]) return false;
    for (int64_t k = i * taps; k < (i + 1) * taps; ++k) {
      if (weights[k] != (places[k] == i ? 1 : 0) && weights[k] != 0) return false;
    }
  }
  return true;
}

AxisWeights WeightsAlong(const ResizeMode& mode, const ResizedAxis& axis) {
  AxisWeights made;
  // Going down with antialias the filter is as wide as the samples that one place stands for.
  const double stretch = mode.antialias && axis.scale < 1 ? 1 / axis.scale : 1;
  const double radius = (mode.kind == ResizeMode::Kind::kCubic ? 2 : 1) * stretch;
  const bool nearest = mode.kind == ResizeMode::Kind::kNearest;
  const int64_t reach = nearest ? 1 : ToPlace(std::ceil(radius));
  made.taps = nearest ? 1 : 2 * reach;
  for (int64_t i = 0; i < axis.to; ++i) {
    const double x =
        nearest ? CoordinateOfNearest(mode, axis, i) : OriginalCoordinate(mode, axis, i);
    made.outside.push_back(mode.coordinates == "tf_crop_and_resize" &&
                           !(x >= 0 && x <= static_cast<double>(axis.from - 1)));
    const auto inside = [&](int64_t place) {
      return std::clamp<int64_t>(place, 0, std::max<int64_t>(axis.from - 1, 0));
    };
    if (nearest) {
      made.places.push_back(inside(ToPlace(Nearest(mode.rounding, x))));
      made.weights.push_back(1);
      continue;
    }
    const int64_t first = ToPlace(std::floor(x)) - reach + 1;
    double sum = 0;
    for (int64_t place = first; place < first + made.taps; ++place) {
      double weight = Filter(mode, (static_cast<double>(place) - x) / stretch);
      if (mode.exclude_outside && place != inside(place)) weight = 0;
      made.places.push_back(inside(place));
      made.weights.push_back(weight);
      sum += weight;
    }
    const bool scaled = stretch > 1 || mode.exclude_outside;
    for (size_t k = made.weights.size() - static_cast<size_t>(made.taps);
         scaled && sum != 0 && k < made.weights.size(); ++k) {
      made.weights[k] /= sum;
    }
  }
  return made;
}

}  // namespace plimsoll::kernels::cpu
