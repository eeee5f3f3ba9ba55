#pragma once

#include <cstdint>

// A matrix of float32, its rows `stride` apart, with a vector: what is left of a product of
// matrices when one side has few rows. Nothing is allocated.
namespace plimsoll::kernels::cpu {

// y[i] = factor * (row i . x)
void RowsTimesVector(const float* rows, int64_t stride, int64_t count, int64_t width,
                     const float* x, float factor, float* y);
// y = the sum of weights[i] * row i
void SumOfRows(const float* rows, int64_t stride, int64_t count, int64_t width,
               const float* weights, float* y);

}  // namespace plimsoll::kernels::cpu
