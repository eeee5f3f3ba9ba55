#include "kernels/cpu/movement/select_words.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/movement/select_words.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void SelectRun(const bool* condition, const uint32_t* yes, int64_t step_yes, const uint32_t* no,
               int64_t step_no, uint32_t* to, int64_t count) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* flags = reinterpret_cast<const uint8_t*>(condition);
  const auto same_yes = hn::Set(d, *yes);
  const auto same_no = hn::Set(d, *no);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto holds = hn::Ne(hn::PromoteTo(d, hn::LoadU(bytes, flags + i)), hn::Zero(d));
    const auto a = step_yes != 0 ? hn::LoadU(d, yes + i) : same_yes;
    const auto b = step_no != 0 ? hn::LoadU(d, no + i) : same_no;
    hn::StoreU(hn::IfThenElse(holds, a, b), d, to + i);
  }
  for (; i < count; ++i) to[i] = condition[i] ? yes[i * step_yes] : no[i * step_no];
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(SelectRun);

void SelectWords(const bool* condition, const uint32_t* yes, int64_t step_yes, const uint32_t* no,
                 int64_t step_no, uint32_t* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(SelectRun)(condition, yes, step_yes, no, step_no, to, count);
}

}  // namespace plimsoll::kernels::cpu
#endif  // HWY_ONCE
