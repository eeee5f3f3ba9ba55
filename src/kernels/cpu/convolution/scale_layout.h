#pragma once

#include <cstdint>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {

// Which scale and zero point belong to which elements of a quantised tensor: one for all, one for
// each slice of an axis, or one for each block along an axis. Seen as rows of elements that lie
// together and whose scales are one, or lie together as well.
class ScaleLayout {
 public:
  struct Row {
    int64_t first = 0;   // element
    int64_t length = 0;  // elements
    int64_t scale = 0;   // the first element's scale
    int64_t step = 0;    // from one element's scale to the next one's: 0 or 1
  };

  // For a site whose input 0 is quantised, or to be, with the scales of input 1.
  static Result<ScaleLayout> Make(const KernelSite& site);

  int64_t rows() const { return rows_; }
  Row At(int64_t row) const;

 private:
  enum class Kind { kTensor, kAxis, kLastAxis, kBlocks, kBlocksOfLastAxis };

  Kind kind_ = Kind::kTensor;
  int64_t rows_ = 1;
  int64_t axis_ = 1;    // elements along the axis
  int64_t inner_ = 1;   // elements behind it
  int64_t block_ = 1;   // elements that share a scale along the axis
  int64_t blocks_ = 1;  // scales along the axis
};

// Calls body(row) for every row, shared out between threads; a single row in pieces.
template <typename Body>
void ForEachPiece(const ScaleLayout& layout, const Body& body) {
  if (layout.rows() == 1) {
    const ScaleLayout::Row whole = layout.At(0);
    ParallelFor(whole.length, kElementGrain, [&](int64_t begin, int64_t end) {
      body(ScaleLayout::Row{whole.first + begin, end - begin, whole.scale + begin * whole.step,
                            whole.step});
    });
    return;
  }
  ParallelFor(layout.rows(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(layout.At(row));
  });
}

}  // namespace plimsoll::kernels::cpu
