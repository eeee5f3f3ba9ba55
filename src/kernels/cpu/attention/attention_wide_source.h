#pragma once

#include <utility>

#include "kernels/cpu/attention/attention_rows.h"
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
    for (int64_t key = 0; key < shape_.keys; ++key) {
      W* to = panels + PanelOffset(shape_.width, key);
      for (int64_t d = 0; d < shape_.width; ++d) {
        to[d * kPanelWidth] = Scaled(from[key * k_.row + d * k_.column]);
      }
    }
    FillUp(shape_.width, shape_.keys, panels);
  }
  void PackValues(int64_t batch, int64_t head, W* panels) const {
    const T* from = values_ + v_.At(batch, head);
    for (int64_t column = 0; column < shape_.value_width; ++column) {
      W* to = panels + PanelOffset(shape_.keys, column);
      for (int64_t key = 0; key < shape_.keys; ++key) {
        to[key * kPanelWidth] = static_cast<W>(from[key * v_.row + column]);
      }
    }
    FillUp(shape_.keys, shape_.value_width, panels);
  }
  std::pair<const W*, int64_t> Queries(int64_t batch, int64_t head, int64_t first, int64_t count,
                                       W* scratch) const {
    for (int64_t i = 0; i < count; ++i) {
      const T* from = queries_ + q_.At(batch, head, first + i);
      for (int64_t d = 0; d < shape_.width; ++d) scratch[i * shape_.width + d] = Scaled(from[d]);
    }
    return {scratch, shape_.width};
  }
  std::pair<W*, int64_t> Results(int64_t, int64_t, int64_t, W* scratch) const {
    return {scratch, shape_.value_width};
  }
  void Store(int64_t batch, int64_t head, int64_t first, int64_t count, const W* scratch) const {
    for (int64_t i = 0; i < count; ++i) {
      T* to = results_ + y_.At(batch, head, first + i);
      for (int64_t d = 0; d < shape_.value_width; ++d) {
        to[d] = T(scratch[i * shape_.value_width + d]);
      }
    }
  }

 private:
  W Scaled(T element) const {
    if constexpr (kIsHalf<T>) {
      return T(static_cast<float>(element) * root_);
    } else {
      return element;
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
