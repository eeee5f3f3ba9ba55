#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kernels/cpu/attention/attention_rows.h"
#include "kernels/cpu/vector/half_rows.h"
#include "kernels/element_types.h"

namespace plimsoll::kernels::cpu {

// Operands of a type that is computed in a wider one. Where they are narrow, queries and keys are
// both multiplied by the root of the factor beforehand and rounded, as the standard has it.
template <typename T>
class WideSource {
 public:
  using W = Wide<T>;
  static constexpr bool kCopiesRows = true;

  WideSource(const AttentionShape& shape, const HeadStrides& q, const HeadStrides& k,
             const HeadStrides& v, const HeadStrides& y, double factor)
      : shape_(shape), q_(q), k_(k), v_(v), y_(y) {
    if constexpr (kIsHalf<T>) {
      root_ = T(static_cast<float>(std::sqrt(factor)));
      factor_ = 1;
    } else {
      factor_ = static_cast<W>(factor);
    }
  }

  void SetOperands(const void* q, const void* k, const void* v, void* y) {
    queries_ = static_cast<const T*>(q);
    keys_ = static_cast<const T*>(k);
    values_ = static_cast<const T*>(v);
    results_ = static_cast<T*>(y);
  }

  W factor() const { return factor_; }
  void PackKeys(int64_t batch, int64_t head, W* panels) const {
    const T* from = keys_ + k_.At(batch, head);
    const auto scale = [this](const T* first, int64_t step, int64_t count, W* to) {
      Scale(first, step, count, to);
    };
    ForEachPiece(from, k_, shape_.keys, shape_.width, scale,
                 [&](int64_t key, int64_t first, std::span<const W> piece) {
                   W* to = panels + PanelOffset(shape_.width, key) + first * kPanelWidth;
                   for (const W element : piece) {
                     *to = element;
                     to += kPanelWidth;
                   }
                 });
    FillUp(shape_.width, shape_.keys, panels);
  }
  void PackValues(int64_t batch, int64_t head, W* panels) const {
    const T* from = values_ + v_.At(batch, head);
    ForEachPiece(from, {.row = v_.row, .column = 1}, shape_.keys, shape_.value_width, Widen,
                 [&](int64_t key, int64_t first, std::span<const W> piece) {
                   for (size_t i = 0; i < piece.size(); i += kPanelWidth) {
                     const auto some =
                         piece.subspan(i, std::min<size_t>(piece.size() - i, kPanelWidth));
                     std::ranges::copy(
                         some, panels + PanelOffset(shape_.keys, first + static_cast<int64_t>(i)) +
                                   key * kPanelWidth);
                   }
                 });
    FillUp(shape_.keys, shape_.value_width, panels);
  }
  std::pair<const W*, int64_t> Queries(int64_t batch, int64_t head, int64_t first, int64_t count,
                                       W* scratch) const {
    for (int64_t i = 0; i < count; ++i) {
      Scale(queries_ + q_.At(batch, head, first + i), 1, shape_.width, scratch + i * shape_.width);
    }
    return {scratch, shape_.width};
  }
  std::pair<W*, int64_t> Results(int64_t, int64_t, int64_t, W* scratch) const {
    return {scratch, shape_.value_width};
  }
  void Store(int64_t batch, int64_t head, int64_t first, int64_t count, const W* scratch) const {
    for (int64_t i = 0; i < count; ++i) {
      Narrow(scratch + i * shape_.value_width, shape_.value_width,
             results_ + y_.At(batch, head, first + i));
    }
  }

 private:
  static constexpr int64_t kSome = 512;  // elements at once, a multiple of a panel's width

  // Gives `rows` rows in pieces of one row, as (row, first element, elements), which `widen` made:
  // several rows in one go where they lie one behind the other.
  template <typename WidenSome, typename Give>
  static void ForEachPiece(const T* from, const HeadStrides& strides, int64_t rows, int64_t width,
                           const WidenSome& widen, const Give& give) {
    W wide[kSome];
    const bool joined = strides.column == 1 && strides.row == width && width <= kSome;
    const int64_t most = joined ? kSome / std::max<int64_t>(width, 1) : 1;
    for (int64_t row = 0; row < rows; row += most) {
      const int64_t some = std::min(most, rows - row);
      for (int64_t first = 0; first < width; first += kSome) {
        const int64_t count = std::min(kSome, width - first);
        widen(from + row * strides.row + first * strides.column, strides.column, some * count,
              wide);
        for (int64_t i = 0; i < some; ++i) {
          give(row + i, first, std::span<const W>(wide + i * count, static_cast<size_t>(count)));
        }
      }
    }
  }
  static void Widen(const T* from, int64_t step, int64_t count, W* to) {
    if constexpr (kIsHalf<T>) {
      if (step == 1) return WidenRow(from, count, to);
    }
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<W>(from[i * step]);
  }
  static void Narrow(const W* from, int64_t count, T* to) {
    if constexpr (kIsHalf<T>) {
      NarrowRow(from, count, to);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = T(from[i]);
    }
  }
  void Scale(const T* from, int64_t step, int64_t count, W* to) const {
    Widen(from, step, count, to);
    if constexpr (kIsHalf<T>) {
      for (int64_t first = 0; first < count; first += kSome) {
        T rounded[kSome];
        const int64_t some = std::min(kSome, count - first);
        for (int64_t i = first; i < first + some; ++i) to[i] *= root_;
        Narrow(to + first, some, rounded);
        Widen(rounded, 1, some, to + first);
      }
    }
  }
  // The last panel's columns that stand for nothing.
  static void FillUp(int64_t depth, int64_t columns, W* panels) {
    for (int64_t column = columns; column < PanelColumns(columns); ++column) {
      W* to = panels + PanelOffset(depth, column);
      for (int64_t d = 0; d < depth; ++d) to[d * kPanelWidth] = 0;
    }
  }

  AttentionShape shape_;
  HeadStrides q_, k_, v_, y_;
  W factor_ = 1;
  float root_ = 1;
  const T* queries_ = nullptr;
  const T* keys_ = nullptr;
  const T* values_ = nullptr;
  T* results_ = nullptr;
};

// How attention over elements of type T goes about its work.
template <typename T>
AttentionWay AttentionWayOf(const AttentionShape& shape, Bytes most) {
  if constexpr (std::is_same_v<T, float>) {
    return FloatAttentionWay(shape, most);
  } else {
    using Scratch = AttentionScratch<Wide<T>, WideSource<T>::kCopiesRows>;
    return AttentionWay::WithPanels<Scratch>(shape, most);
  }
}

}  // namespace plimsoll::kernels::cpu
