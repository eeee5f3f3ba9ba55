#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cpu/attention/attention_core.h"
#include "kernels/cpu/product/gemm.h"
#include "kernels/cpu/product/matrix_vector.h"
#include "kernels/cpu/vector/float_rows.h"

namespace plimsoll::kernels::cpu {

// Scores of float32 to weights that sum to 1, or to zeros where no key has any weight. With a sink
// they sum to less: it is a score as the others are, whose weight is nobody's.
inline void SoftmaxOrZeros(float* scores, int64_t count, const float* sink = nullptr) {
  const float largest = RowSoftmax(scores, count, scores);
  if (sink != nullptr && std::isfinite(largest)) {
    // The largest weight is 1 / sum.
    const float most = *std::max_element(scores, scores + count);
    const float left = 1 / (1 + most * std::exp(*sink - largest));
    for (int64_t i = 0; i < count; ++i) scores[i] *= left;
    return;
  }
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
    PackKeys(batch, head, 0, shape_.keys, panels);
  }
  void PackValues(int64_t batch, int64_t head, float* panels) const {
    PackValues(batch, head, 0, shape_.keys, panels);
  }
  // The same of some keys only.
  void PackKeys(int64_t batch, int64_t head, int64_t first, int64_t count, float* panels) const {
    PackPanels(keys_ + k_.At(batch, head, first), k_.column, k_.row, 0, shape_.width, 0, count,
               shape_.width, panels);
  }
  void PackValues(int64_t batch, int64_t head, int64_t first, int64_t count, float* panels) const {
    PackPanels(values_ + v_.At(batch, head, first), v_.row, v_.column, 0, count, 0,
               shape_.value_width, count, panels);
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
  const int64_t items = shape.batch * shape.query_heads * shape.queries;
  // What follows each other reads the same keys, mostly.
  ParallelPieces(items, slots, [&](int64_t item, int64_t slot) {
    float* scores = static_cast<float*>(workspace) + slot * PanelColumns(shape.keys);
    const int64_t query = item % shape.queries;
    const int64_t batch = item / shape.queries / shape.query_heads;
    const int64_t query_head = item / shape.queries % shape.query_heads;
    const int64_t head = query_head / shape.group();
    const KeyRange range = rows.Range(batch, query);
    source.ScoreRow(batch, head, query_head, query, range.end, scores);
    rows.Finish(batch, query_head, query, range, range.end, scores);
    source.SumRow(batch, head, query_head, query, range, scores);
  });
}

// Keys, or values, in panels of a few keys at a time: rows of scores are kept whole.
struct AttentionPieces {
  static constexpr int64_t kKeys = 64;
  static constexpr int64_t kMostRows = 48;
  static constexpr int64_t kLeastRows = 12;

  static int64_t Keys(const AttentionShape& shape) {
    return std::min(kKeys, PanelColumns(shape.keys));
  }
  static int64_t PanelSize(const AttentionShape& shape) {
    return Keys(shape) * std::max(shape.width, PanelColumns(shape.value_width));
  }
  static Bytes Size(const AttentionShape& shape, int64_t rows) {
    const int64_t elements = PanelSize(shape) + rows * PanelColumns(shape.keys);
    return (Bytes(elements) * static_cast<int64_t>(sizeof(float))).RoundUp(64);
  }
};

// Rows [first, first + count) of one query head.
template <typename Rows>
void AttendPieces(const AttentionShape& shape, const FloatSource& source, const Rows& rows,
                  int64_t batch, int64_t query_head, int64_t first, int64_t count, float* panels) {
  const int64_t head = query_head / shape.group();
  const int64_t stride = PanelColumns(shape.keys);
  const int64_t piece = AttentionPieces::Keys(shape);
  float* const scores = panels + AttentionPieces::PanelSize(shape);
  int64_t end = 0;
  for (int64_t i = first; i < first + count; ++i) end = std::max(end, rows.Range(batch, i).end);
  const auto [queries, query_stride] = source.Queries(batch, query_head, first, count, nullptr);
  for (int64_t key = 0; key < end; key += piece) {
    const int64_t some = std::min(piece, end - key);
    source.PackKeys(batch, head, key, some, panels);
    RunGemm({.rows = count,
             .columns = some,
             .depth = shape.width,
             .a = queries,
             .a_row_stride = query_stride,
             .b = {panels, kPanelWidth, shape.width * kPanelWidth},
             .scale = source.factor(),
             .c = scores + key,
             .c_stride = stride});
  }
  for (int64_t i = 0; i < count; ++i) {
    rows.Finish(batch, query_head, first + i, rows.Range(batch, first + i), end,
                scores + i * stride);
  }
  const auto [results, result_stride] = source.Results(batch, query_head, first, nullptr);
  for (int64_t i = 0; end == 0 && i < count; ++i) {
    std::fill_n(results + i * result_stride, shape.value_width, 0.0f);
  }
  for (int64_t key = 0; key < end; key += piece) {
    const int64_t some = std::min(piece, end - key);
    source.PackValues(batch, head, key, some, panels);
    RunGemm({.rows = count,
             .columns = shape.value_width,
             .depth = some,
             .a = scores + key,
             .a_row_stride = stride,
             .b = {panels, kPanelWidth, some * kPanelWidth},
             .c = results,
             .c_stride = result_stride,
             .accumulate = key > 0});
  }
}

// As Attend, with panels of a few keys at a time.
template <typename Rows>
void AttendByPieces(const AttentionShape& shape, const FloatSource& source, const Rows& rows,
                    const AttentionWay& way, void* workspace) {
  const int64_t blocks = (shape.queries + way.piece_rows - 1) / way.piece_rows;
  const int64_t items = shape.batch * shape.query_heads * blocks;
  ParallelPieces(items, way.slots, [&](int64_t item, int64_t slot) {
    auto* const panels =
        reinterpret_cast<float*>(static_cast<char*>(workspace) + slot * way.slot.value());
    const int64_t unit = item / blocks;
    const int64_t first = item % blocks * way.piece_rows;
    AttendPieces(shape, source, rows, unit / shape.query_heads, unit % shape.query_heads, first,
                 std::min(way.piece_rows, shape.queries - first), panels);
  });
}

// Panels where they pay; fewer threads, panels of fewer keys, and at last none, where `most` asks
// for it.
inline AttentionWay FloatAttentionWay(const AttentionShape& shape, Bytes most) {
  using Scratch = AttentionScratch<float, FloatSource::kCopiesRows>;
  const Bytes alone = Scratch::PanelsSize(shape) + Scratch::RowsSize(shape);
  if (!HasFewQueries(shape) && alone <= most) {
    return AttentionWay::WithPanels<Scratch>(shape, most);
  }
  using Pieces = AttentionPieces;
  for (int64_t rows = Pieces::kMostRows; rows >= Pieces::kLeastRows; rows /= 2) {
    const Bytes size = Pieces::Size(shape, rows);
    if (HasFewQueries(shape) || size > most) continue;
    const int64_t blocks = (shape.queries + rows - 1) / rows;
    const int64_t items = shape.batch * shape.query_heads * blocks;
    AttentionWay way = AttentionWay::Within(shape, items, size, most);
    way.piece_rows = rows;
    return way;
  }
  const Bytes row = Bytes(PanelColumns(shape.keys)) * static_cast<int64_t>(sizeof(float));
  const int64_t items = shape.batch * shape.query_heads * shape.queries;
  AttentionWay way = AttentionWay::Within(shape, items, row, most);
  way.row_by_row = true;
  return way;
}

template <typename Rows>
void AttendFloat(const AttentionShape& shape, const FloatSource& source, const Rows& rows,
                 const AttentionWay& way, void* workspace) {
  if (way.row_by_row) {
    AttendRowByRow(shape, source, rows, way.slots, workspace);
  } else if (way.piece_rows > 0) {
    AttendByPieces(shape, source, rows, way, workspace);
  } else {
    Attend<float>(shape, source, rows, way, workspace);
  }
}

}  // namespace plimsoll::kernels::cpu
