#pragma once

#include <cstdint>

#include "kernels/element_types.h"

// Rows of halves and what they are as float32, over the widest vectors that the machine has. The
// same numbers as the conversions of the types themselves; a NaN stays one.
namespace plimsoll::kernels::cpu {

void WidenRow(const Float16* from, int64_t count, float* to);
void WidenRow(const Bfloat16* from, int64_t count, float* to);
// Rounds to the nearest even one.
void NarrowRow(const float* from, int64_t count, Float16* to);
void NarrowRow(const float* from, int64_t count, Bfloat16* to);

}  // namespace plimsoll::kernels::cpu
