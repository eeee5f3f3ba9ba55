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

// For GatherElements and ScatterElements: each element of input 1 tells the place along an axis of
// input 0, whose other places are the element's own. Immutable; Visit allocates nothing while all
// indices are inside.
class ElementPlaces {
 public:
  static Result<ElementPlaces> Make(const KernelSite& site, int64_t axis);

  // Calls visit(place in input 0, place in input 1, count) in order, for runs of elements that lie
  // next to each other in both: as many as have the same index (a row that was spread by Expand),
  // else one by one.
  template <typename Body>
  Status Visit(const void* indices, const Body& visit) const {
    if (empty_) return {};
    return index_type_ == graph::DataType::kInt64
               ? VisitRows(static_cast<const int64_t*>(indices), visit)
               : VisitRows(static_cast<const int32_t*>(indices), visit);
  }

 private:
  template <typename Index, typename Body>
  Status VisitRows(const Index* indices, const Body& visit) const {
    Status status;
    WalkBox(axes_, 0, 0, [&](int64_t base, int64_t position) {
      const Index* const row = indices + position;
      int64_t run = 1;
      for (int64_t i = 0; i < row_; i += run) {
        const int64_t index = row[i];
        if (index < -length_ || index >= length_) {
          status = IndexOutside(outside_, index, length_);
          return false;
        }
        run = i == 0 && row_step_ == 1 ? RunOfEqual(row) : 1;
        visit(base + i * row_step_ + (index < 0 ? index + length_ : index) * stride_, position + i,
              run);
      }
      return true;
    });
    return status;
  }

  // A whole row, or one element.
  template <typename Index>
  int64_t RunOfEqual(const Index* row) const {
    for (int64_t i = 1; i < row_; ++i) {
      if (row[i] != row[0]) return 1;
    }
    return row_;
  }

  std::vector<CopyAxis> axes_;  // all but the last
  int64_t row_ = 1;             // elements along the last axis
  int64_t row_step_ = 0;        // between their places in input 0, but for what indices tell
  int64_t length_ = 0;          // of the axis that indices speak of
  int64_t stride_ = 1;
  bool empty_ = false;
  graph::DataType index_type_ = graph::DataType::kInt64;
  Error outside_;
};

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
