#include "kernels/cpu/classical/squared_distances.h"

#include <algorithm>

#include "kernels/cpu/product/panel_product.h"
#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/classical/squared_distances.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::CappedTag<float, kPanelWidth> kDistanceLanes;
using DistanceVector = hn::Vec<decltype(kDistanceLanes)>;
constexpr int kDistanceVectors =
    static_cast<int>(kPanelWidth / hn::MaxLanes(kDistanceLanes));  // of a panel
// Enough sums that they do not wait for each other.
constexpr int kDistanceRows = kDistanceVectors == 1 ? 8 : 4;

// kRows rows from one panel, vector by vector.
template <int kRows>
HWY_INLINE void FromPanel(int64_t depth, const float* a, const float* panel, float* c,
                          int64_t c_stride) {
  constexpr int64_t kLaneCount = kPanelWidth / kDistanceVectors;
  for (int v = 0; v < kDistanceVectors; ++v) {
    DistanceVector sums[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r] = hn::Zero(kDistanceLanes);
    for (int64_t d = 0; d < depth; ++d) {
      const DistanceVector vectors =
          hn::LoadU(kDistanceLanes, panel + d * kPanelWidth + v * kLaneCount);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const DistanceVector apart = hn::Sub(hn::Set(kDistanceLanes, a[r * depth + d]), vectors);
        sums[r] = hn::MulAdd(apart, apart, sums[r]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      hn::StoreU(sums[r], kDistanceLanes, c + r * c_stride + v * kLaneCount);
    }
  }
}

template <int kRows>
void FromPanels(int64_t columns, int64_t depth, const float* a, const float* panels, float* c,
                int64_t c_stride) {
  for (int64_t column = 0; column < columns; column += kPanelWidth) {
    FromPanel<kRows>(depth, a, panels + column * depth, c + column, c_stride);
  }
}

void Distances(int64_t rows, int64_t columns, int64_t depth, const float* a, const float* panels,
               float* c, int64_t c_stride) {
  int64_t row = 0;
  for (; row + kDistanceRows <= rows; row += kDistanceRows) {
    FromPanels<kDistanceRows>(columns, depth, a + row * depth, panels, c + row * c_stride,
                              c_stride);
  }
  for (; row + 2 <= rows; row += 2) {
    FromPanels<2>(columns, depth, a + row * depth, panels, c + row * c_stride, c_stride);
  }
  if (row < rows) {
    FromPanels<1>(columns, depth, a + row * depth, panels, c + row * c_stride, c_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(Distances);

void SquaredDistances(int64_t rows, int64_t columns, int64_t depth, const float* a,
                      const float* panels, float* c, int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(Distances)(rows, columns, depth, a, panels, c, c_stride);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
