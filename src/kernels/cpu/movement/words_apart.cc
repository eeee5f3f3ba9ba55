#include "kernels/cpu/movement/words_apart.h"

#include "kernels/cpu/vector/hot_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/movement/words_apart.cc"
// clang-format off: the order matters
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Gives how many words were taken; the last vector of two would reach behind the last word.
int64_t TakeEverySecond([[maybe_unused]] const uint32_t* from, [[maybe_unused]] int64_t count,
                        [[maybe_unused]] uint32_t* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes < count; i += lanes) {
    const auto low = hn::LoadU(d, from + 2 * i);
    const auto high = hn::LoadU(d, from + 2 * i + lanes);
    hn::StoreU(hn::ConcatEven(d, high, low), d, to + i);
  }
#endif
  return i;
}

}  // namespace HWY_NAMESPACE
}  // namespace plimsoll::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(TakeEverySecond);

void TakeWordsApart(const uint32_t* from, int64_t step, int64_t count, uint32_t* to) {
  int64_t i = step == 2 ? HWY_DYNAMIC_DISPATCH(TakeEverySecond)(from, count, to) : 0;
  for (; i < count; ++i) to[i] = from[i * step];
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
