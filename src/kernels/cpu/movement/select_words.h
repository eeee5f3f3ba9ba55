#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// Elements of 4 bytes: `yes` where the condition holds, `no` elsewhere. Steps are 0 or 1; the
// condition's is 1. For the widest vectors that the machine has; `to` may be `yes` or `no`.
void SelectWords(const bool* condition, const uint32_t* yes, int64_t step_yes, const uint32_t* no,
                 int64_t step_no, uint32_t* to, int64_t count);

}  // namespace plimsoll::kernels::cpu
