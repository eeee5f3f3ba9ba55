#pragma once

#include <cstdint>

// What the hot float32 kernels do to rows of consecutive elements, over the widest vectors that the
// machine has. Every `y` may be the same memory as `x`. Nothing is allocated; rows may be empty and
// need no alignment. The same input gives the same output on the same machine.
namespace plimsoll::kernels::cpu {

float RowSum(const float* x, int64_t count);
float RowSumOfMagnitudes(const float* x, int64_t count);
float RowProduct(const float* x, int64_t count);
// The sum of (x[i] - center)^2.
float RowSumOfSquares(const float* x, int64_t count, float center);
float RowDot(const float* a, const float* b, int64_t count);
// NaN where one of the elements is; minus (plus) infinity for no elements.
float RowMax(const float* x, int64_t count);
float RowMin(const float* x, int64_t count);

// y = factor * x + offset
void RowAffine(const float* x, int64_t count, float factor, float offset, float* y);
// (x + addend) * factor + offset, each step rounded to float32. y may be x, and no other overlap.
void RowAffineSteps(const float* x, int64_t count, float addend, float factor, float offset,
                    float* y);
// y = (x - mean) * factor * scale + bias; a null scale is 1 and a null bias 0.
void RowNormalize(const float* x, int64_t count, float mean, float factor, const float* scale,
                  const float* bias, float* y);
// y = exp(x) / the sum of all exp(x); gives the largest x. Where that is not finite, nothing is
// written; where another x is NaN, all y are.
float RowSoftmax(const float* x, int64_t count, float* y);
// The same for y = x - log(the sum of all exp(x)).
float RowLogSoftmax(const float* x, int64_t count, float* y);
// The sum of exp(x - shift).
float RowExpSum(const float* x, int64_t count, float shift);
// x = cap * tanh(x / cap)
void RowSoftCap(float* x, int64_t count, float cap);

// Element by element over two rows, x into y.
void RowAddTo(const float* x, int64_t count, float factor, float* y);  // y += factor * x
// y = exp(x - shift), sums += y, with a shift and a sum for each element.
void RowExpTo(const float* x, const float* shift, int64_t count, float* sums, float* y);
void RowMultiplyBy(const float* factor, int64_t count, float* y);  // y *= factor
// y = x - a - b
void RowSubtract(const float* x, const float* a, const float* b, int64_t count, float* y);
// y += (x - center)^2
void RowAddSquaredDistancesTo(const float* x, const float* centers, int64_t count, float* y);
// y = (x - center) / divisor
void RowStandardize(const float* x, const float* centers, const float* divisors, int64_t count,
                    float* y);

}  // namespace plimsoll::kernels::cpu
