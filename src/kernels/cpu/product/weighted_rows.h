#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// to[n] = the sum over k of weights[k] * (from + offsets[k])[n], for n below `count`. At least one
// tap; `to` lies outside what is read.
void SumRows(const float* from, const int64_t* offsets, const float* weights, int64_t taps,
             int64_t count, float* to);

// to[n] = the sum over k of weights[k * count + n] * from[places[k * count + n]].
void SumPlaces(const float* from, const int32_t* places, const float* weights, int64_t taps,
               int64_t count, float* to);

}  // namespace plimsoll::kernels::cpu
