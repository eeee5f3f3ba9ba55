#include "kernels/cpu/movement/strided_copy.h"

#include <algorithm>

#include "kernels/cpu/movement/matrix_transpose.h"
#include "kernels/cpu/movement/moved_element.h"
#include "kernels/cpu/movement/words_apart.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"

namespace plimsoll::kernels::cpu {
namespace {

// Fewer elements than this are moved faster by one thread than shared out.
constexpr int64_t kWorthSharing = int64_t{1} << 15;

// Runs of so few elements are moved by a loop made for their length.
constexpr int64_t kShortRun = 8;

// `rows` runs of `count` elements, at most kLength.
template <int64_t kLength = kShortRun, typename T>
void CopyShortRuns(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t rows,
                   int64_t count) {
  if constexpr (kLength > 1) {
    if (count < kLength) {
      return CopyShortRuns<kLength - 1>(from, from_stride, to, to_stride, rows, count);
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < kLength; ++i) to[i] = from[i];
    from += from_stride;
    to += to_stride;
  }
}

std::vector<CopyAxis> Simplified(const std::vector<CopyAxis>& axes) {
  std::vector<CopyAxis> kept;
  for (const CopyAxis& axis : axes) {
    if (axis.count == 1) continue;
    const bool joins = !kept.empty() && kept.back().from == axis.count * axis.from &&
                       kept.back().to == axis.count * axis.to;
    if (joins) {
      kept.back() = {kept.back().count * axis.count, axis.from, axis.to};
    } else {
      kept.push_back(axis);
    }
  }
  return kept;
}

// Rows of so few elements that a call for each would take longer than they do. Gives whether they
// were.
template <typename T>
bool MoveShortRuns(const CopyAxis& rows, int64_t count, int64_t run, const T* from, T* to) {
  const auto move = [&]<int64_t kRun>() {
    for (int64_t row = 0; row < count; ++row) {
      std::copy_n(from + row * rows.from, kRun, to + row * rows.to);
    }
    return true;
  };
  switch (run) {
    case 2:
      return move.template operator()<2>();
    case 3:
      return move.template operator()<3>();
    case 4:
      return move.template operator()<4>();
    case 5:
      return move.template operator()<5>();
    case 6:
      return move.template operator()<6>();
    case 8:
      return move.template operator()<8>();
    default:
      return false;
  }
}

}  // namespace

Dims StridesOf(std::span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * std::max<int64_t>(dims[axis], 1);
  }
  return strides;
}

StridedCopy::StridedCopy(graph::DataType type, std::vector<CopyAxis> axes, int64_t from_first,
                         int64_t to_first)
    : type_(type), from_first_(from_first), to_first_(to_first) {
  for (const CopyAxis& axis : axes) elements_ *= axis.count;
  empty_ = elements_ == 0;
  if (empty_) return;
  axes_ = Simplified(axes);
  ChooseInner();
  // Far out threads write apart from each other.
  const int64_t parts = kPartsOfThread * Threads();
  const auto enough =
      std::ranges::find_if(axes_, [parts](const CopyAxis& axis) { return axis.count >= parts; });
  const auto longest = std::ranges::max_element(axes_, {}, &CopyAxis::count);
  split_ = static_cast<size_t>((enough != axes_.end() ? enough : longest) - axes_.begin());
}

void StridedCopy::ChooseInner() {
  if (axes_.empty()) return;
  const CopyAxis& last = axes_.back();
  outer_axes_ = axes_.size() - 1;
  inner_ = Inner::kStrided;
  if (last.to != 1) return;
  if (last.from == 1) {
    const bool in_loops = axes_.size() > 1 && last.count <= kShortRun;
    inner_ = in_loops ? Inner::kShortRuns : Inner::kRun;
    if (in_loops) --outer_axes_;
  } else if (last.from == 0) {
    inner_ = Inner::kFill;
  } else {
    const auto contiguous = std::find_if(axes_.begin(), axes_.end(),
                                         [](const CopyAxis& axis) { return axis.from == 1; });
    if (contiguous == axes_.end()) return;
    std::rotate(contiguous, contiguous + 1, axes_.end() - 1);
    inner_ = Inner::kBlocks;
    outer_axes_ = axes_.size() - 2;
  }
}

template <typename T>
void StridedCopy::MoveInner(int64_t begin, int64_t end, const T* from, T* to) const {
  if (inner_ == Inner::kElement) return CopyRun(from, to, 1);
  const CopyAxis& last = axes_.back();
  const int64_t count = Count(axes_.size() - 1, begin, end);
  switch (inner_) {
    case Inner::kRun:
      return CopyRun(from, to, count);
    case Inner::kShortRuns: {
      const CopyAxis& rows = axes_[outer_axes_];
      if (from == to && rows.from == rows.to) return;
      return CopyShortRuns(from, rows.from, to, rows.to, Count(outer_axes_, begin, end), count);
    }
    case Inner::kFill:
      FillRun(*from, to, count);
      return;
    case Inner::kBlocks: {
      const int64_t rows = Count(outer_axes_, begin, end);
      const int64_t row_stride = axes_[outer_axes_].to;
      if constexpr (std::is_same_v<T, uint32_t>) {
        TransposeWords(from, last.from, to, row_stride, rows, count);
      } else {
        TransposeMatrix(from, last.from, to, row_stride, rows, count);
      }
      return;
    }
    default:
      if constexpr (std::is_same_v<T, uint32_t>) {
        if (last.to == 1 && last.from > 0) return TakeWordsApart(from, last.from, count, to);
      }
      for (int64_t i = 0; i < count; ++i) to[i * last.to] = from[i * last.from];
  }
}

template <typename T>
void StridedCopy::Walk(size_t axis, int64_t begin, int64_t end, const T* from, T* to) const {
  if (axis == outer_axes_) return MoveInner(begin, end, from, to);
  const int64_t count = Count(axis, begin, end);
  if (axis + 1 == outer_axes_ && inner_ == Inner::kRun && from != to &&
      MoveShortRuns(axes_[axis], count, Count(axis + 1, begin, end), from, to)) {
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    Walk(axis + 1, begin, end, from + i * axes_[axis].from, to + i * axes_[axis].to);
  }
}

template <typename T>
void StridedCopy::RunAs(const T* from, T* to) const {
  from += from_first_;
  to += to_first_;
  const bool one_run = inner_ == Inner::kElement || (inner_ == Inner::kRun && outer_axes_ == 0);
  if (one_run && from == to) return;
  if (axes_.empty()) return MoveInner(0, 1, from, to);
  const CopyAxis& split = axes_[split_];
  const int64_t grain = std::max<int64_t>(split.count * kWorthSharing / elements_, 1);
  ParallelFor(split.count, grain, [&](int64_t begin, int64_t end) {
    Walk(0, begin, end, from + begin * split.from, to + begin * split.to);
  });
}

void StridedCopy::WalkBits(size_t axis, const void* from, int64_t from_at, void* to,
                           int64_t to_at) const {
  if (axis == axes_.size()) {
    const graph::DataType moved = MovedType(type_);
    return StoreInteger(moved, to, to_at, LoadInteger(moved, from, from_at));
  }
  for (int64_t i = 0; i < axes_[axis].count; ++i) {
    WalkBits(axis + 1, from, from_at + i * axes_[axis].from, to, to_at + i * axes_[axis].to);
  }
}

void StridedCopy::Run(const void* from, void* to) const {
  if (empty_) return;
  const bool whole = VisitMoved(
      type_, [&]<typename T>() { RunAs(static_cast<const T*>(from), static_cast<T*>(to)); });
  if (!whole) WalkBits(0, from, from_first_, to, to_first_);
}

}  // namespace plimsoll::kernels::cpu
