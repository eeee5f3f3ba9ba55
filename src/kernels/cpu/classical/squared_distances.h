#pragma once

#include <cstdint>

namespace plimsoll::kernels::cpu {

// c[r * c_stride + v]: the squared distance of row r of `a` (`depth` elements, one row behind the
// other) from vector v of `panels`, which lie as columns of a product's B do
// (kernels/cpu/product/panel_product.h). `columns` is a multiple of the panels' width. Sums of
// differences, so near vectors lose no digits. In the calling thread; allocates nothing.
void SquaredDistances(int64_t rows, int64_t columns, int64_t depth, const float* a,
                      const float* panels, float* c, int64_t c_stride);

}  // namespace plimsoll::kernels::cpu
