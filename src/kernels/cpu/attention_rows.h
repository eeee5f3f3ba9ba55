#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/attention_core.h"
#include "kernels/cpu/float_rows.h"
#include "kernels/cpu/matrix_vector.h"

namespace plimsoll::kernels::cpu {

// Scores of float32 to weights that sum to 1, or to zeros where no key has any weight.
inline void SoftmaxOrZeros(float* scores, int64_t count) {
  const float largest = RowSoftmax(scores, count, scores);
  if (largest == -std::numeric_limits<float>::infinity()) {
    std::fill_n(scores, count, 0.0f);
  } else if (!std::isfinite(largest)) {
    std::fill_n(scores, count, std::numeric_limits<float>::quiet_NaN());
  }
}

// Operands of float32, used where they lie.
class FloatSource {
 public:
  static constexpr bool kCopiesRows = false;

  FloatSource(const AttentionShape& shape, const HeadStrides& q, const HeadStrides& k,
              const HeadStrides& v, const HeadStrides& y, float factor)
      : shape_(shape), q_(q), k_(k), v_(v), y_(y), factor_(factor) {}

  void SetOperands(const void* q, const void* k, const void* v, void* y) {
    queries_ = static_cast<const float*>(q);
    keys_ = static_cast<const float*>(k);
    values_ = static_cast<const float*>(v);
    results_ = static_cast<float*>(y);
  }

  float factor() const { return factor_; }
  void PackKeys(int64_t batch, int64_t head, float* panels) const {
    PackPanels(keys_ + k_.At(batch, head), k_.column, k_.row, 0, shape_.width, 0, shape_.keys,
               shape_.width, panels);
  }
  void PackValues(int64_t batch, int64_t head, float* panels) const {
    PackPanels(values_ + v_.At(batch, head), v_.row, v_.column, 0, shape_.keys, 0,
               shape_.value_width, shape_.keys, panels);
  }
  std::pair<const float*, int64_t> Queries(int64_t batch, int64_t head, int64_t first, int64_t,
                                           float*) const {
    return {queries_ + q_.At(batch, head, first), q_.row};
  }
  std::pair<float*, int64_t> Results(int64_t batch, int64_t head, int64_t first, float*) const {
    return {results_ + y_.At(batch, head, first), y_.row};
  }
  void Store(int64_t, int64_t, int64_t, int64_t, const float*) const {}

  // One row without panels, for queries too few to pay for them: scores of the first `end` keys...
  void ScoreRow(int64_t batch, int64_t head, int64_t query_head, int64_t query, int64_t end,
                float* scores) const {
    const float* row = queries_ + q_.At(batch, query_head, query);
    const float* keys = keys_ + k_.At(batch, head);
    if (k_.column == 1) {
      RowsTimesVector(keys, k_.row, end, shape_.width, row, factor_, scores);
      return;
    }
    std::fill_n(scores, end, 0.0f);
    for (int64_t d = 0; d < shape_.width; ++d) {
      RowAddTo(keys + d * k_.column, end, factor_ * row[d], scores);
    }
  }
  // ... and the sum of the values, each times its weight.
  void SumRow(int64_t batch, int64_t head, int64_t query_head, int64_t query, const KeyRange& range,
              const float* weights) const {
    SumOfRows(values_ + v_.At(batch, head, range.begin), v_.row, range.end - range.begin,
              shape_.value_width, weights + range.begin,
              results_ + y_.At(batch, query_head, query));
  }

 private:
  AttentionShape shape_;
  HeadStrides q_, k_, v_, y_;
  float factor_;
  const float* queries_ = nullptr;
  const float* keys_ = nullptr;
  const float* values_ = nullptr;
  float* results_ = nullptr;
};

// Where a key and value head is read by so few queries that panels do not pay.
inline bool HasFewQueries(const AttentionShape& shape) { return shape.queries * shape.group() < 6; }

// As Attend, row by row; scratch of PanelColumns(keys) floats for each slot.
template <typename Rows>
void AttendRowByRow(const AttentionShape& shape, const FloatSource& source, const Rows& rows,
                    int64_t slots, void* workspace) {
  const int64_t heads = shape.batch * shape.query_heads;
  ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      float* scores = static_cast<float*>(workspace) + slot * PanelColumns(shape.keys);
      for (int64_t unit = slot; unit < heads; unit += slots) {
        const int64_t batch = unit / shape.query_heads;
        const int64_t query_head = unit % shape.query_heads;
        const int64_t head = query_head / shape.group();
        for (int64_t query = 0; query < shape.queries; ++query) {
          const KeyRange range = rows.Range(batch, query);
          source.ScoreRow(batch, head, query_head, query, range.end, scores);
          rows.Finish(batch, query_head, query, range, range.end, scores);
          source.SumRow(batch, head, query_head, query, range, scores);
        }
      }
    }
  });
}

// Panels where they pay; fewer threads, and at last no panels, where `most` asks for it.
inline AttentionWay FloatAttentionWay(const AttentionShape& shape, Bytes most) {
  const Bytes panels = AttentionScratch<float, FloatSource::kCopiesRows>::Size(shape);
  const Bytes row = Bytes(PanelColumns(shape.keys)) * static_cast<int64_t>(sizeof(float));
  if (!HasFewQueries(shape) && panels <= most) return AttentionWay::Within(shape, panels, most);
  AttentionWay way = AttentionWay::Within(shape, row, most);
  way.row_by_row = true;
  return way;
}

template <typename Rows>
void AttendFloat(const AttentionShape& shape, const FloatSource& source, const Rows& rows,
                 const AttentionWay& way, void* workspace) {
  if (way.row_by_row) {
    AttendRowByRow(shape, source, rows, way.slots, workspace);
  } else {
    Attend<float>(shape, source, rows, way.slots, workspace);
  }
}

}  // namespace plimsoll::kernels::cpu
