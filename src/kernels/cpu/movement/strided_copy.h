#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// One axis of a box of elements: how many, and how far apart they lie (in elements) where they are
// read and where they are written.
struct CopyAxis {
  int64_t count = 1;
  int64_t from = 0;
  int64_t to = 0;
};

// Row-major strides, in elements.
Dims StridesOf(std::span<const int64_t> dims);

// A box of elements moved from one strided place to another: the whole of Transpose, Slice, Split,
// Concat, Expand and Tile. The axes are simplified when it is made (axes of one dropped, neighbours
// joined), so that most moves are runs of memcpy or blocks of a matrix transpose.
//
// Run allocates nothing, may be called by several threads at once, and moves nothing when the box
// is one run that already lies where it belongs. No element is written twice. Elements of any type;
// those below a byte are moved one by one. Cannot fail.
class StridedCopy {
 public:
  // The box begins `from_first` and `to_first` elements behind the pointers given to Run.
  StridedCopy(graph::DataType type, std::vector<CopyAxis> axes, int64_t from_first = 0,
              int64_t to_first = 0);

  void Run(const void* from, void* to) const;

 private:
  // How the innermost axes are moved; those before them are loops around it.
  enum class Inner { kElement, kRun, kShortRuns, kFill, kStrided, kBlocks };

  void ChooseInner();
  int64_t Count(size_t axis, int64_t begin, int64_t end) const {
    return axis == split_ ? end - begin : axes_[axis].count;
  }
  template <typename T>
  void RunAs(const T* from, T* to) const;
  template <typename T>
  void Walk(size_t axis, int64_t begin, int64_t end, const T* from, T* to) const;
  template <typename T>
  void MoveInner(int64_t begin, int64_t end, const T* from, T* to) const;
  void WalkBits(size_t axis, const void* from, int64_t from_at, void* to, int64_t to_at) const;

  graph::DataType type_;
  std::vector<CopyAxis> axes_;  // none: one element
  int64_t from_first_;
  int64_t to_first_;
  bool empty_ = false;
  Inner inner_ = Inner::kElement;
  size_t outer_axes_ = 0;  // axes_ that are loops around the inner part
  size_t split_ = 0;       // the axis that threads share out: the first, or the longest
  int64_t elements_ = 1;
};

}  // namespace plimsoll::kernels::cpu
