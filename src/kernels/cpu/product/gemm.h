#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll::kernels::cpu {

// B of a product in panels of kPanelWidth columns (kernels/cpu/product/panel_product.h): element
// (d, c) lies at data[c / kPanelWidth * panel_stride + d * row_stride + c % kPanelWidth]. Packed
// panels and the rows of a plain matrix both are of this kind. The last panel is read whole.
struct PanelMatrix {
  const float* data = nullptr;
  int64_t row_stride = 0;
  int64_t panel_stride = 0;
};

// Where sums over a depth are broken: each part is computed separately and then added, so that a
// caller who goes through the parts in order, accumulating, gets the same numbers. The parts have
// `step` products each, the last what is left; without a step they are as few as stay in the first
// cache, and of equal length.
struct DepthParts {
  int64_t depth = 0;
  int64_t step = 0;

  constexpr int64_t count() const {
    constexpr int64_t kLongest = 384;  // such a part of a panel stays there
    const int64_t most = step > 0 ? step : kLongest;
    return depth / most + (depth % most > 0 ? 1 : 0);
  }
  constexpr int64_t begin(int64_t part) const {
    return step > 0 ? std::min(depth, part * step) : depth * part / count();
  }
};

// C += scale * A x B, or C = scale * A x B, for float32 matrices of any size.
struct Gemm {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  int64_t depth_step = 0;    // of DepthParts
  const float* a = nullptr;  // element (r, d) at a[r * a_row_stride + d * a_depth_stride]
  int64_t a_row_stride = 0;
  int64_t a_depth_stride = 1;
  PanelMatrix b;
  float scale = 1;
  float* c = nullptr;  // element (r, c) at c[r * c_stride + c]
  int64_t c_stride = 0;
  bool accumulate = false;
  // What is brought into the second cache on the way: with the first rows the panels of B behind
  // those in use, also those behind the last columns; with all of them the rows of A below, which
  // have no gaps between them then.
  bool fetches_beyond = true;
  bool fetches_rows = false;
};

// What the inner loop works on at once; other sizes take as long as the next multiple.
struct GemmTile {
  int64_t rows = 1;
  int64_t panels = 1;
};
GemmTile GemmTileHere();  // with the widest vectors of the machine

// Works it out in the calling thread over the widest vectors of the machine; allocates nothing.
// Each element sums its products in one order, whatever the size of the matrices around it.
void RunGemm(const Gemm& gemm);

}  // namespace plimsoll::kernels::cpu
