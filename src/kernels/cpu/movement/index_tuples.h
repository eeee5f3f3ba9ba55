#pragma once

#include <algorithm>
#include <atomic>

#include "kernels/cpu/movement/axis_split.h"
#include "kernels/cpu/movement/strided_copy.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {

// Calls visit(from, to) for every place of a box, last axis fastest.
template <typename Visit>
void WalkBox(std::span<const CopyAxis> axes, int64_t from, int64_t to, const Visit& visit) {
  if (axes.empty()) return visit(from, to);
  for (int64_t i = 0; i < axes[0].count; ++i) {
    WalkBox(axes.subspan(1), from + i * axes[0].from, to + i * axes[0].to, visit);
  }
}

// For GatherElements and ScatterElements: each element of input 1 tells the place along an axis of
// input 0, whose other places are the element's own. Immutable; Visit allocates nothing while all
// indices are inside.
class ElementPlaces {
 public:
  static Result<ElementPlaces> Make(const KernelSite& site, int64_t axis);

  // Calls visit(place in input 0, place in input 1, count) in order, for runs of elements that lie
  // next to each other in both: as many as have the same index (a row that was spread by Expand),
  // else one by one. Pieces with an index outside are left out.
  template <typename Body>
  Status Visit(const void* indices, const Body& visit) const {
    return VisitIndices(indices, visit, [&](const auto& parts) { parts(0, this->parts()); });
  }

  // The same by several threads at once, each over some of the places; in any order.
  template <typename Body>
  Status VisitInParallel(const void* indices, const Body& visit) const {
    return VisitIndices(indices, visit, [&](const auto& parts) {
      constexpr int64_t kGrain = 1 << 13;
      ParallelFor(this->parts(), kGrain * this->parts() / count_ + 1, parts);
    });
  }

 private:
  // Calls share_out(parts), which is to call parts(begin, end) over all parts().
  template <typename Body, typename ShareOut>
  Status VisitIndices(const void* indices, const Body& visit, const ShareOut& share_out) const {
    if (count_ == 0) return {};
    std::atomic<int64_t> outside = count_;  // the first place of an index that is
    const auto visit_own = [&](const auto* own) -> Status {
      share_out([&](int64_t begin, int64_t end) { VisitParts(own, begin, end, visit, outside); });
      const int64_t at = outside.load();
      return at == count_ ? Status() : IndexOutside(outside_, own[at], length_);
    };
    return index_type_ == graph::DataType::kInt64 ? visit_own(static_cast<const int64_t*>(indices))
                                                  : visit_own(static_cast<const int32_t*>(indices));
  }

  // Along the first axis, or elements of the only one.
  int64_t parts() const { return axes_.empty() ? row_ : axes_[0].count; }

  template <typename Index, typename Body>
  void VisitParts(const Index* indices, int64_t begin, int64_t end, const Body& visit,
                  std::atomic<int64_t>& outside) const {
    if (axes_.empty()) return VisitRow(indices, begin, end, 0, 0, visit, outside);
    const std::span<const CopyAxis> inner = std::span(axes_).subspan(1);
    for (int64_t i = begin; i < end; ++i) {
      WalkBox(inner, i * axes_[0].from, i * axes_[0].to, [&](int64_t base, int64_t position) {
        VisitRow(indices, 0, row_, base, position, visit, outside);
      });
    }
  }

  // Pieces are read twice, and stay in the cache between.
  template <typename Index, typename Body>
  void VisitRow(const Index* indices, int64_t begin, int64_t end, int64_t base, int64_t position,
                const Body& visit, std::atomic<int64_t>& outside) const {
    constexpr int64_t kPiece = 1024;
    for (; begin < end; begin += kPiece) {
      const int64_t last = std::min(begin + kPiece, end);
      const Index* const row = indices + position;
      const auto wrong = std::find_if(row + begin, row + last, [&](Index index) {
        const auto above = static_cast<uint64_t>(index) + static_cast<uint64_t>(length_);
        return above >= static_cast<uint64_t>(2 * length_);
      });
      if (wrong != row + last) {
        int64_t first = outside.load();
        while (wrong - indices < first && !outside.compare_exchange_weak(first, wrong - indices)) {
        }
        continue;
      }
      VisitPiece(row, begin, last, base, position, visit);
    }
  }

  template <typename Index, typename Body>
  void VisitPiece(const Index* row, int64_t begin, int64_t end, int64_t base, int64_t position,
                  const Body& visit) const {
    const auto place = [&](int64_t i) {
      const int64_t index = row[i];
      // Signs are as good as random: no branch.
      return base + i * row_step_ + (index + (index >> 63 & length_)) * stride_;
    };
    if (row_step_ == 1 &&
        std::all_of(row + begin, row + end, [&](Index index) { return index == row[begin]; })) {
      return visit(place(begin), position + begin, end - begin);
    }
    if (row_step_ == 0 && stride_ == 1) {  // along the last axis
      const int64_t length = length_;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t index = row[i];
        visit(base + index + (index >> 63 & length), position + i, int64_t{1});
      }
      return;
    }
    for (int64_t i = begin; i < end; ++i) visit(place(i), position + i, int64_t{1});
  }

  std::vector<CopyAxis> axes_;  // all but the last
  int64_t row_ = 1;             // elements along the last axis
  int64_t row_step_ = 0;        // between their places in input 0, but for what indices tell
  int64_t length_ = 0;          // of the axis that indices speak of
  int64_t stride_ = 1;
  int64_t count_ = 0;  // of indices
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
