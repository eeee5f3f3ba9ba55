#pragma once

#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/strided_copy.h"

namespace plimsoll::kernels::cpu {

// Calls visit(from, to) -> bool for every place of a box, last axis fastest, until it says false.
template <typename Visit>
bool WalkBox(std::span<const CopyAxis> axes, int64_t from, int64_t to, const Visit& visit) {
  if (axes.empty()) return visit(from, to);
  for (int64_t i = 0; i < axes[0].count; ++i) {
    if (!WalkBox(axes.subspan(1), from + i * axes[0].from, to + i * axes[0].to, visit)) {
      return false;
    }
  }
  return true;
}

// For GatherElements and ScatterElements: the places of input 1, each with the place of input 0
// that it speaks of but for the part along `axis`, which its index tells.
Result<std::vector<CopyAxis>> AxesOfIndices(const KernelSite& site, int64_t axis);

// For GatherND and ScatterND: input 1 holds tuples that name slices of input 0, tensor by tensor of
// a batch. Immutable; Visit allocates nothing while all indices are inside.
class IndexTuples {
 public:
  static Result<IndexTuples> Make(const KernelSite& site, int64_t batch_axes);

  int64_t slice() const { return slice_; }  // elements of one slice

  // Calls visit(tuple's number, first element of its slice) in order.
  template <typename Body>
  Status Visit(const void* indices, const Body& visit) const {
    for (int64_t tuple = 0; tuple < count_; ++tuple) {
      int64_t offset = tuple / per_batch_ * batch_stride_;
      for (size_t part = 0; part < lengths_.size(); ++part) {
        const int64_t length = lengths_[part];
        const int64_t at =
            tuple * static_cast<int64_t>(lengths_.size()) + static_cast<int64_t>(part);
        const int64_t index = IndexAt(index_type_, indices, at);
        if (index < -length || index >= length) return IndexOutside(outside_, index, length);
        offset += (index < 0 ? index + length : index) * strides_[part];
      }
      visit(tuple, offset);
    }
    return {};
  }

 private:
  Dims lengths_;  // of the axes that a tuple names
  Dims strides_;
  int64_t count_ = 0;
  int64_t per_batch_ = 1;
  int64_t batch_stride_ = 0;
  int64_t slice_ = 1;
  graph::DataType index_type_ = graph::DataType::kInt64;
  Error outside_;
};

}  // namespace plimsoll::kernels::cpu
