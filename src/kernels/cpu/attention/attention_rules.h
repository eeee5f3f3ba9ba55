#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/attention/attention_mask.h"
#include "kernels/cpu/attention/attention_rows.h"

namespace plimsoll::kernels::cpu {

// The wide number that an element of that type would hold.
template <typename Wide>
Wide RoundedTo(graph::DataType type, Wide value) {
  if (type == graph::DataType::kFloat16) return Float16(static_cast<float>(value));
  if (type == graph::DataType::kBfloat16) return Bfloat16(static_cast<float>(value));
  return value;
}

// What the standard's Attention does to a row of scores, as shapes and attributes tell it.
struct AttentionRules {
  AttentionShape shape;
  int64_t past = 0;  // keys that were there before
  bool causal = false;
  int64_t left_window = -1;
  int64_t right_window = -1;
  double soft_cap = 0;
  int64_t scores_kept = -1;  // which stage output 3 shows; -1: none
  graph::DataType type = graph::DataType::kUndefined;
  graph::DataType softmax_type = graph::DataType::kUndefined;
  AttentionMask mask;
};

// The rules with one run's data.
template <typename Wide>
class RuledRows {
 public:
  // `sinks`: a score of each query head that takes part in the softmax and has no value.
  RuledRows(const AttentionRules& rules, const void* mask, const int64_t* valid_keys, void* kept,
            const float* sinks = nullptr)
      : rules_(rules), mask_(mask), valid_keys_(valid_keys), kept_(kept), sinks_(sinks) {}

  // Scores that are shown before the softmax are shown for all keys.
  KeyRange Range(int64_t batch, int64_t query) const {
    if (rules_.scores_kept >= 0) return {0, rules_.shape.keys};
    return Visible(batch, query);
  }

  void Finish(int64_t batch, int64_t head, int64_t query, const KeyRange&, int64_t end,
              Wide* scores) const {
    constexpr Wide kHidden = -std::numeric_limits<Wide>::infinity();
    if (rules_.type != graph::DataType::kFloat32) Round(rules_.type, end, scores);
    Keep(0, batch, head, query, scores);
    if (rules_.soft_cap > 0) Cap(end, scores);
    Keep(1, batch, head, query, scores);
    const KeyRange visible = Visible(batch, query);
    std::fill(scores, scores + visible.begin, kHidden);
    std::fill(scores + visible.end, scores + end, kHidden);
    const bool any = rules_.mask.AddTo(mask_, batch, head, query, visible, scores);
    if (rules_.type != graph::DataType::kFloat32) Round(rules_.type, end, scores);
    Keep(2, batch, head, query, scores);
    if (any) {
      Softmax(visible, sinks_ == nullptr ? nullptr : sinks_ + head, scores);
      std::fill(scores, scores + visible.begin, Wide(0));
      std::fill(scores + visible.end, scores + end, Wide(0));
    } else {
      std::fill(scores, scores + end, Wide(0));
    }
    Keep(3, batch, head, query, scores);
  }

 private:
  KeyRange Visible(int64_t batch, int64_t query) const {
    const AttentionShape& shape = rules_.shape;
    int64_t end = std::min(shape.keys, rules_.mask.keys());
    int64_t offset = rules_.past;
    if (valid_keys_ != nullptr) {
      end = std::min(end, std::max<int64_t>(valid_keys_[batch], 0));
      offset = SaturatingAdd(valid_keys_[batch], -shape.queries);
    }
    const int64_t place = SaturatingAdd(offset, query);
    if (rules_.causal) end = std::min(end, SaturatingAdd(place, 1));
    if (rules_.right_window >= 0) {
      end = std::min(end, SaturatingAdd(place, SaturatingAdd(rules_.right_window, 1)));
    }
    int64_t begin = 0;
    if (rules_.left_window >= 0) begin = std::max(begin, place - rules_.left_window);
    end = std::max<int64_t>(end, 0);
    return {std::min(begin, end), end};
  }

  // Shows the scores in output 3 where it is for that stage.
  void Keep(int64_t stage, int64_t batch, int64_t head, int64_t query, const Wide* scores) const {
    if (stage != rules_.scores_kept) return;
    const AttentionShape& shape = rules_.shape;
    const int64_t row = (batch * shape.query_heads + head) * shape.queries + query;
    for (int64_t j = 0; j < shape.keys; ++j) {
      StoreDouble(rules_.type, kept_, row * shape.keys + j, static_cast<double>(scores[j]));
    }
  }

  static void Round(graph::DataType type, int64_t count, Wide* scores) {
    for (int64_t j = 0; j < count; ++j) scores[j] = RoundedTo(type, scores[j]);
  }

  void Cap(int64_t count, Wide* scores) const {
    if (rules_.type == graph::DataType::kFloat32) {
      if constexpr (std::is_same_v<Wide, float>) {
        RowSoftCap(scores, count, static_cast<float>(rules_.soft_cap));
        return;
      }
    }
    const Wide cap = RoundedTo(rules_.type, static_cast<Wide>(rules_.soft_cap));
    for (int64_t j = 0; j < count; ++j) {
      const Wide part = RoundedTo(rules_.type, scores[j] / cap);
      scores[j] = RoundedTo(rules_.type, RoundedTo(rules_.type, std::tanh(part)) * cap);
    }
  }

  void Softmax(const KeyRange& range, const float* sink, Wide* scores) const {
    const graph::DataType type = rules_.softmax_type;
    const bool narrow = type == graph::DataType::kFloat16 || type == graph::DataType::kBfloat16;
    if constexpr (std::is_same_v<Wide, float>) {
      if (!narrow) {
        SoftmaxOrZeros(scores + range.begin, range.end - range.begin, sink);
        if (rules_.type != type) {
          Round(rules_.type, range.end - range.begin, scores + range.begin);
        }
        return;
      }
    }
    RoundedSoftmax(type, range, scores);
  }

  // Every step rounded to the type, as arithmetic of that type would. Sums of float16 are kept in
  // float32 and rounded once, as numpy, and with it the standard's own cases, has them.
  void RoundedSoftmax(graph::DataType type, const KeyRange& range, Wide* scores) const {
    Wide largest = -std::numeric_limits<Wide>::infinity();
    for (int64_t j = range.begin; j < range.end; ++j) {
      scores[j] = RoundedTo(type, scores[j]);
      if (scores[j] > largest || scores[j] != scores[j]) largest = scores[j];
    }
    if (largest == -std::numeric_limits<Wide>::infinity()) largest = 0;
    Wide sum = 0;
    for (int64_t j = range.begin; j < range.end; ++j) {
      scores[j] = RoundedTo(type, std::exp(RoundedTo(type, scores[j] - largest)));
      sum += scores[j];
      if (type == graph::DataType::kBfloat16) sum = RoundedTo(type, sum);
    }
    sum = sum == 0 ? Wide(1) : RoundedTo(type, sum);
    for (int64_t j = range.begin; j < range.end; ++j) {
      scores[j] = RoundedTo(rules_.type, RoundedTo(type, scores[j] / sum));
    }
  }

  const AttentionRules& rules_;
  const void* mask_;
  const int64_t* valid_keys_;  // per batch; null: all
  void* kept_;
  const float* sinks_;
};

}  // namespace plimsoll::kernels::cpu
