#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "kernels/cpu/product/panel_product.h"
#include "kernels/parallel.h"
#include "plimsoll/base/bytes.h"

// softmax(Q K^T) V, a block of query rows at a time: the scores of one block are all that is ever
// kept of the score matrix. What happens to a row of scores is the caller's.
namespace plimsoll::kernels::cpu {

inline constexpr std::string_view kAttentionPurpose =
    "keys and values of a head in panels, and the scores of some queries";

// How far apart the elements of one operand lie, whatever its layout.
struct HeadStrides {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
  int64_t column = 1;

  int64_t At(int64_t batch_index, int64_t head_index, int64_t row_index = 0) const {
    return batch_index * batch + head_index * head + row_index * row;
  }
};

// [batch, heads, rows, width], or [batch, rows, heads, width] where `rows_first`.
constexpr HeadStrides StridesOfHeads(int64_t heads, int64_t rows, int64_t width, bool rows_first) {
  if (rows_first) return {rows * heads * width, width, heads * width, 1};
  return {heads * rows * width, rows * width, width, 1};
}

struct AttentionShape {
  int64_t batch = 0;
  int64_t query_heads = 0;
  int64_t heads = 0;  // of keys and values; each is shared by query_heads / heads query heads
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t width = 0;  // of a query and of a key
  int64_t value_width = 0;

  int64_t group() const { return heads == 0 ? 0 : query_heads / heads; }
  int64_t units() const { return batch * heads; }
  // Query rows whose scores are kept at once: a quarter of a MiB of scores, as caches like it.
  int64_t BlockRows() const {
    return std::clamp<int64_t>((1 << 16) / std::max<int64_t>(keys, 1) / 12 * 12, 12, 96);
  }
  int64_t blocks() const { return (queries + BlockRows() - 1) / BlockRows(); }
  // Parts of whole blocks that the queries of a head are taken in, so that threads get equal shares
  // where there are blocks enough.
  int64_t QueryParts(int64_t threads) const {
    const int64_t even = threads / std::gcd(std::max<int64_t>(units(), 1), threads);
    return std::clamp<int64_t>(even, 1, std::max<int64_t>(blocks(), 1));
  }
};

// The keys [begin, end) that a query may look at.
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Scratch of one thread. Elements of type Wide; the parts begin on cache lines. Queries and results
// have a part only where a source `copies` them.
template <typename Wide, bool copies>
struct AttentionScratch {
  Wide* keys;
  Wide* values;
  Wide* scores;
  Wide* queries;
  Wide* results;

  static int64_t Lines(int64_t elements) {
    return Bytes(SaturatingMultiply(elements, sizeof(Wide))).RoundUp(64).value();
  }
  static int64_t CopiedRows(const AttentionShape& shape) { return copies ? shape.BlockRows() : 0; }
  static Bytes Size(const AttentionShape& shape) {
    const int64_t rows = shape.BlockRows();
    const int64_t copied = CopiedRows(shape);
    return Bytes(Lines(PanelElements(shape.width, shape.keys))) +
           Bytes(Lines(PanelElements(shape.keys, shape.value_width))) +
           Bytes(Lines(rows * PanelColumns(shape.keys))) + Bytes(Lines(copied * shape.width)) +
           Bytes(Lines(copied * shape.value_width));
  }
  AttentionScratch(const AttentionShape& shape, char* memory) {
    const int64_t rows = shape.BlockRows();
    const auto take = [&memory](int64_t elements) {
      auto* part = reinterpret_cast<Wide*>(memory);
      memory += Lines(elements);
      return part;
    };
    keys = take(PanelElements(shape.width, shape.keys));
    values = take(PanelElements(shape.keys, shape.value_width));
    scores = take(rows * PanelColumns(shape.keys));
    queries = take(CopiedRows(shape) * shape.width);
    results = take(CopiedRows(shape) * shape.value_width);
  }
};

// Rows [first, first + count) of one query head: what they look at decides how much is worked out.
template <typename Wide, typename Source, typename Rows>
void AttendBlock(const AttentionShape& shape, const Source& source, const Rows& rows, int64_t batch,
                 int64_t head, int64_t first, int64_t count,
                 const AttentionScratch<Wide, Source::kCopiesRows>& scratch) {
  const int64_t stride = PanelColumns(shape.keys);
  int64_t end = 0;
  for (int64_t i = first; i < first + count; ++i) end = std::max(end, rows.Range(batch, i).end);
  const auto [queries, query_stride] = source.Queries(batch, head, first, count, scratch.queries);
  // Whole panels: what stands behind the last key is never looked at.
  MultiplyPanels(count, PanelColumns(end), shape.width, queries, query_stride, scratch.keys,
                 shape.width, source.factor(), scratch.scores, stride);
  for (int64_t i = 0; i < count; ++i) {
    rows.Finish(batch, head, first + i, rows.Range(batch, first + i), end,
                scratch.scores + i * stride);
  }
  const auto [results, result_stride] = source.Results(batch, head, first, scratch.results);
  MultiplyPanels(count, shape.value_width, end, scratch.scores, stride, scratch.values, shape.keys,
                 Wide(1), results, result_stride);
  source.Store(batch, head, first, count, scratch.results);
}

// How many threads may work at once, each with scratch of its own.
inline int64_t AttentionSlots(const AttentionShape& shape) {
  const int64_t items = shape.units() * shape.QueryParts(Threads());
  return std::max<int64_t>(std::min<int64_t>(Threads(), items), 1);
}

// How attention goes about its work.
struct AttentionWay {
  bool row_by_row = false;  // without panels
  int64_t piece_rows = 0;   // with panels of a few keys at a time: query rows at once; else 0
  Bytes slot;               // scratch of one thread
  int64_t slots = 1;        // threads that work at once

  // As many threads as there is work for, or fewer where all their scratch is to keep to `most`.
  static AttentionWay Within(const AttentionShape& shape, Bytes slot, Bytes most) {
    const int64_t allowed = most.value() / std::max<int64_t>(slot.value(), 1);
    return {.row_by_row = false,
            .piece_rows = 0,
            .slot = slot,
            .slots = std::clamp<int64_t>(allowed, 1, AttentionSlots(shape))};
  }
  Bytes workspace() const { return slot * slots; }
};

// Source tells where the operands are:
//   kCopiesRows: whether queries and results go through scratch;
//   PackKeys(batch, head, panels), PackValues(batch, head, panels): of one key and value head;
//   factor(): what the products are multiplied by;
//   Queries(batch, head, first, count, scratch), Results(batch, head, first, scratch): rows and how
//   far apart they lie; Store(batch, head, first, count, scratch) when results were left in
//   scratch.
// Rows turns scores into weights:
//   Range(batch, query): the keys that the query may look at;
//   Finish(batch, head, query, range, end, scores): scores [0, end) become weights.
template <typename Wide, typename Source, typename Rows>
void Attend(const AttentionShape& shape, const Source& source, const Rows& rows, int64_t slots,
            void* workspace) {
  using Scratch = AttentionScratch<Wide, Source::kCopiesRows>;
  const int64_t size = Scratch::Size(shape).value();
  const int64_t block = shape.BlockRows();
  const int64_t parts = shape.QueryParts(slots);
  ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      const Scratch scratch(shape, static_cast<char*>(workspace) + slot * size);
      for (int64_t item = slot; item < shape.units() * parts; item += slots) {
        const int64_t batch = item / parts / shape.heads;
        const int64_t head = item / parts % shape.heads;
        const int64_t from = shape.blocks() * (item % parts) / parts * block;
        const int64_t to =
            std::min(shape.blocks() * (item % parts + 1) / parts * block, shape.queries);
        source.PackKeys(batch, head, scratch.keys);
        source.PackValues(batch, head, scratch.values);
        for (int64_t member = 0; member < shape.group(); ++member) {
          for (int64_t first = from; first < to; first += block) {
            AttendBlock(shape, source, rows, batch, head * shape.group() + member, first,
                        std::min(block, to - first), scratch);
          }
        }
      }
    }
  });
}

}  // namespace plimsoll::kernels::cpu
