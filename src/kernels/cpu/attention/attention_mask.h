#pragma once

#include <array>
#include <limits>

#include "kernels/cpu/attention/attention_core.h"
#include "kernels/element_types.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// A mask that broadcasts to [batch, heads, queries, keys]: booleans that say which keys take part,
// or numbers to add to the scores. One with fewer keys than there are hides the others.
class AttentionMask {
 public:
  AttentionMask() = default;  // no mask
  AttentionMask(const TensorInfo& mask, const AttentionShape& shape);

  // That the mask's shape broadcasts.
  static bool Fits(const TensorInfo& mask, const AttentionShape& shape);

  bool present() const { return type_ != graph::DataType::kUndefined; }
  int64_t keys() const { return keys_; }  // that the mask covers

  // Adds the mask to scores [range.begin, range.end). False when it hides every one of them.
  template <typename Wide>
  bool AddTo(const void* mask, int64_t batch, int64_t head, int64_t query, const KeyRange& range,
             Wide* scores) const;

 private:
  graph::DataType type_ = graph::DataType::kUndefined;
  std::array<int64_t, 4> strides_{};  // 0 along axes that broadcast
  int64_t keys_ = std::numeric_limits<int64_t>::max();
};

template <typename Wide>
bool AttentionMask::AddTo(const void* mask, int64_t batch, int64_t head, int64_t query,
                          const KeyRange& range, Wide* scores) const {
  constexpr Wide kHidden = -std::numeric_limits<Wide>::infinity();
  if (!present()) return range.begin < range.end;
  const int64_t base = batch * strides_[0] + head * strides_[1] + query * strides_[2];
  bool any = false;
  if (type_ == graph::DataType::kBool) {
    const bool* allowed = static_cast<const bool*>(mask) + base;
    for (int64_t j = range.begin; j < range.end; ++j) {
      any |= allowed[j];
      if (!allowed[j]) scores[j] = kHidden;
    }
  } else if (type_ == graph::DataType::kFloat32) {
    const float* bias = static_cast<const float*>(mask) + base;
    for (int64_t j = range.begin; j < range.end; ++j) {
      any |= bias[j] != -std::numeric_limits<float>::infinity();
      scores[j] += static_cast<Wide>(bias[j]);
    }
  } else {
    for (int64_t j = range.begin; j < range.end; ++j) {
      const auto bias = static_cast<Wide>(LoadDouble(type_, mask, base + j));
      any |= bias != kHidden;
      scores[j] += bias;
    }
  }
  return any;
}

}  // namespace plimsoll::kernels::cpu
