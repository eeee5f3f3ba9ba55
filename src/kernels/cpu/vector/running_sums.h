#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Neighbouring lanes that are summed up side by side: place i of lane k is x[i * step + k]. A step
// may be negative.
struct RunningSums {
  int64_t lanes = 0;
  int64_t length = 0;
  int64_t step = 0;
  bool exclusive = false;  // each place gets the sum of those before it alone
};

// Whole numbers wrap around. y may be x; nothing is allocated.
void SumAlong(const RunningSums& sums, const float* x, float* y);
void SumAlong(const RunningSums& sums, const int32_t* x, int32_t* y);
void SumAlong(const RunningSums& sums, const int64_t* x, int64_t* y);

}  // namespace plimsoll::kernels::cpu
