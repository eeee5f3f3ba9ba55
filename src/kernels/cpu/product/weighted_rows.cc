#include "kernels/cpu/product/weighted_rows.h"

#include "kernels/cpu/vector/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/product/weighted_rows.cc"
#include <hwy/foreach_target.h>
// Highway wants its own header behind the list of targets.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plimsoll::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void SumRowsHere(const float* from, const int64_t* offsets, const float* weights, int64_t taps,
                 int64_t count, float* to) {
  const hn::ScalableTag<float> floats;
  const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
  int64_t n = 0;
  for (; n + lanes <= count; n += lanes) {
    auto sum = hn::Mul(hn::Set(floats, weights[0]), hn::LoadU(floats, from + offsets[0] + n));
    for (int64_t k = 1; k < taps; ++k) {
      sum = hn::MulAdd(hn::Set(floats, weights[k]), hn::LoadU(floats, from + offsets[k] + n), sum);
    }
    hn::StoreU(sum, floats, to + n);
  }
  for (; n < count; ++n) {
    float sum = 0;
    for (int64_t k = 0; k < taps; ++k) sum += weights[k] * from[offsets[k] + n];
    to[n] = sum;
  }
}

void SumPlacesHere(const float* from, const int32_t* places, const float* weights, int64_t taps,
                   int64_t count, float* to) {
  const hn::ScalableTag<float> floats;
  const hn::RebindToSigned<decltype(floats)> integers;
  const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
  int64_t n = 0;
  for (; n + lanes <= count; n += lanes) {
    auto sum = hn::Zero(floats);
    for (int64_t k = 0; k < taps; ++k) {
      const auto read = hn::GatherIndex(floats, from, hn::LoadU(integers, places + k * count + n));
      sum = hn::MulAdd(hn::LoadU(floats, weights + k * count + n), read, sum);
    }
    hn::StoreU(sum, floats, to + n);
  }
  for (; n < count; ++n) {
    float sum = 0;
    for (int64_t k = 0; k < taps; ++k) sum += weights[k * count + n] * from[places[k * count + n]];
    to[n] = sum;
  }
}

}  // namespace plimsoll::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plimsoll::kernels::cpu {

HWY_EXPORT(SumRowsHere);
HWY_EXPORT(SumPlacesHere);

void SumRows(const float* from, const int64_t* offsets, const float* weights, int64_t taps,
             int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(SumRowsHere)(from, offsets, weights, taps, count, to);
}

void SumPlaces(const float* from, const int32_t* places, const float* weights, int64_t taps,
               int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(SumPlacesHere)(from, places, weights, taps, count, to);
}

}  // namespace plimsoll::kernels::cpu
#endif
