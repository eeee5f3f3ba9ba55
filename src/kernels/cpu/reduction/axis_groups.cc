#include "kernels/cpu/reduction/axis_groups.h"

#include <algorithm>

namespace plimsoll::kernels::cpu {

AxisGroups GroupAxes(std::span<const int64_t> dims, const std::vector<bool>& folded) {
  AxisGroups groups;
  int64_t stride = 1;
  const std::vector<AxisGroup>* last = nullptr;  // the list that the axis further in belongs to
  for (size_t axis = dims.size(); axis-- > 0;) {
    const int64_t size = dims[axis];
    if (size == 1) continue;
    std::vector<AxisGroup>& list = folded[axis] ? groups.folded : groups.kept;
    if (last == &list) {
      list.back().size *= size;
    } else {
      list.push_back({size, stride});
    }
    (folded[axis] ? groups.folded_count : groups.kept_count) *= size;
    last = &list;
    stride *= size;
  }
  std::reverse(groups.kept.begin(), groups.kept.end());
  std::reverse(groups.folded.begin(), groups.folded.end());
  return groups;
}

}  // namespace plimsoll::kernels::cpu
