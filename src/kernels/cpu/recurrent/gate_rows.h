#pragma once

#include <cstdint>

// A step of one item of the cells that the standard has by default, sigmoids for gates and tanh for
// what they let through, in one pass over the widest vectors of the machine. A column's numbers do
// not depend on where in the row it lies. Gates lie `stride` elements apart.
namespace plimsoll::kernels::cpu {

// What a step does to sums before they are activated.
struct GateSums {
  float clip = 0;                    // to [-clip, clip]; 0: not
  const float* peepholes = nullptr;  // LSTM: i, o, f, or null: a factor of the cell for each
  int64_t peephole_stride = 0;
};

// Gates i, o, f, c. Renews `cell` and writes `hidden`.
void StepLstmRow(const float* gates, int64_t stride, const GateSums& sums, int64_t count,
                 float* cell, float* hidden);

// A GRU that resets what the state adds, after the product: gates z, r and what the state adds to
// the last one, to which the data adds `data`. `before` is the state of the step before.
void StepGruRow(const float* gates, int64_t stride, const GateSums& sums, const float* data,
                const float* before, int64_t count, float* hidden);

}  // namespace plimsoll::kernels::cpu
