#pragma once

#include <cstdint>

#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/product_shape.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// In which order ONNX Runtime adds up the products of a sum, where ours is to be the same to the
// last bit.
struct SumSteps {
  int64_t depth_step = 0;  // of DepthParts; 0: any order
  // One row takes four products at once, each rounded, adds them up and adds that to the sum.
  bool in_fours = false;

  bool given() const { return depth_step > 0; }
};

// By the attribute sum_steps of a product of float32: 1 where B is a constant of two dimensions
// there, which it packs; 2 where it takes B as it is. `columns` are those of all of B. One column
// of such a B, and one row times its transpose, keep any order.
SumSteps SumStepsOf(const KernelSite& site, const ProductShape& shape, int64_t columns,
                    float scale);

// The one row of a product whose scale is 1, in fours. Parts that begin at multiples of four may
// follow each other.
void RunRowInFours(const Gemm& gemm);

}  // namespace plimsoll::kernels::cpu
