#include "kernels/cpu/vector/block_rows.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector/block_rows.cc"
// clang-format off: foreach_target.h must come first
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::CappedTag<float, 8> kBlockLanes;
constexpr auto kBlockVector = static_cast<int64_t>(hn::MaxLanes(kBlockLanes));

void AffineOfBlocks(const float* x, int64_t places, int64_t block, const float* factors,
                    const float* offsets, float* y) {
  for (int64_t lane = 0; lane < block; lane += kBlockVector) {
    const auto factor = hn::LoadU(kBlockLanes, factors + lane);
    const auto offset = hn::LoadU(kBlockLanes, offsets + lane);
    for (int64_t at = lane; at < places * block; at += block) {
      hn::StoreU(hn::MulAdd(hn::LoadU(kBlockLanes, x + at), factor, offset), kBlockLanes, y + at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(AffineOfBlocks);

void BlockAffine(const float* x, int64_t places, int64_t block, const float* factors,
                 const float* offsets, float* y) {
  HWY_DYNAMIC_DISPATCH(AffineOfBlocks)(x, places, block, factors, offsets, y);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
