#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// How Resize and Upsample see all axes.
struct ResizeMode {
  enum class Kind { kNearest, kLinear, kCubic };
  Kind kind = Kind::kNearest;
  std::string coordinates = "half_pixel";       // coordinate_transformation_mode
  std::string rounding = "round_prefer_floor";  // nearest_mode
  double cubic = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

// One axis of them. `scale` is what was asked for, which need not be to / from exactly.
struct ResizedAxis {
  int64_t from = 1;
  int64_t to = 1;
  double scale = 1;
  double region_start = 0;  // tf_crop_and_resize
  double region_end = 1;
};

// For each place of the output along one axis, the places of the input that it is made of and
// their weights: entry i * taps + k is the k-th of place i.
struct AxisWeights {
  int64_t taps = 1;
  std::vector<int64_t> places;
  std::vector<double> weights;
  std::vector<bool> outside;  // tf_crop_and_resize: the place lies outside the input

  bool IsIdentity(const ResizedAxis& axis) const;
};

AxisWeights WeightsAlong(const ResizeMode& mode, const ResizedAxis& axis);

}  // namespace plimsoll::kernels::cpu
