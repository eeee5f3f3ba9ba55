#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// Neighbouring axes that a reduction treats alike, as one: `size` elements, `stride` apart.
struct AxisGroup {
  int64_t size = 1;
  int64_t stride = 1;
};

// A row-major tensor's axes, divided into those that a reduction keeps and those that it folds.
// Axes of size 1 are dropped. The innermost axis, if any is left, ends one of the two lists and has
// stride 1: when it ends `folded`, each result comes out of runs of consecutive elements, else
// consecutive results come out of consecutive elements.
struct AxisGroups {
  std::vector<AxisGroup> kept;  // outermost first
  std::vector<AxisGroup> folded;
  int64_t kept_count = 1;
  int64_t folded_count = 1;

  bool folds_innermost() const { return !folded.empty() && folded.back().stride == 1; }
};

AxisGroups GroupAxes(std::span<const int64_t> dims, const std::vector<bool>& folded);

// Where the element with that row-major index within the groups lies.
inline int64_t OffsetIn(std::span<const AxisGroup> groups, int64_t index) {
  int64_t offset = 0;
  for (size_t i = groups.size(); i-- > 0;) {
    offset += index % groups[i].size * groups[i].stride;
    index /= groups[i].size;
  }
  return offset;
}

}  // namespace plimsoll::kernels::cpu
