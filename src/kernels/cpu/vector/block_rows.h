#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// y[p * block + lane] = factors[lane] * x[p * block + lane] + offsets[lane] for p below `places`,
// over the widest vectors of the machine. `block` is 8 or 16; y may be x.
void BlockAffine(const float* x, int64_t places, int64_t block, const float* factors,
                 const float* offsets, float* y);

}  // namespace plimsoll::kernels::cpu
