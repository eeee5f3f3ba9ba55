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

  // The parts that the queries of a head are taken in, so that each thread has as many.
  int64_t PartsFor(int64_t threads) const {
    constexpr int64_t kLeastRows = 12;
    const int64_t even = threads / std::gcd(std::max<int64_t>(units(), 1), threads);
    return std::clamp<int64_t>(even, 1, std::max<int64_t>(queries / kLeastRows, 1));
  }
};

// The keys [begin, end) that a query may look at.
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Panels of a head, and scratch of one thread. Elements of type Wide; the parts begin on cache
// lines. Queries and results have a part only where a source `copies` them.
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
  static Bytes PanelsSize(const AttentionShape& shape) {
    return Bytes(Lines(PanelElements(shape.width, shape.keys))) +
           Bytes(Lines(PanelElements(shape.keys, shape.value_width)));
  }
  static Bytes RowsSize(const AttentionShape& shape) {
    const int64_t copied = CopiedRows(shape);
    return Bytes(Lines(shape.BlockRows() * PanelColumns(shape.keys))) +
           Bytes(Lines(copied * shape.width)) + Bytes(Lines(copied * shape.value_width));
  }
  AttentionScratch(const AttentionShape& shape, char* panels, char* memory) {
    const auto take = [](char*& from, int64_t elements) {
      auto* part = reinterpret_cast<Wide*>(from);
      from += Lines(elements);
      return part;
    };
    keys = take(panels, PanelElements(shape.width, shape.keys));
    values = take(panels, PanelElements(shape.keys, shape.value_width));
    scores = take(memory, shape.BlockRows() * PanelColumns(shape.keys));
    queries = take(memory, CopiedRows(shape) * shape.width);
    results = take(memory, CopiedRows(shape) * shape.value_width);
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

// How attention goes about its work.
struct AttentionWay {
  bool row_by_row = false;  // without panels
  int64_t piece_rows = 0;   // with panels of a few keys at a time: query rows at once; else 0
  Bytes slot;               // scratch of one thread
  int64_t slots = 1;        // threads that work at once
  Bytes panels;             // of a whole head
  int64_t heads = 0;        // that are in such panels at once: one for each thread, or
  int64_t parts = 1;        // where more than one, shared by these parts of the queries

  // As many threads as there are heads of keys, or items where these are worth a thread each; fewer
  // where all their scratch is to keep to `most`.
  static AttentionWay Within(const AttentionShape& shape, int64_t items, Bytes slot, Bytes most) {
    constexpr int64_t kThreadWork = int64_t{1} << 16;  // multiplications
    const int64_t allowed = most.value() / std::max<int64_t>(slot.value(), 1);
    const int64_t work = shape.batch * shape.query_heads * shape.queries * shape.keys *
                         (shape.width + shape.value_width);
    const int64_t wanted = std::max(shape.units(), std::min(items, work / kThreadWork));
    const int64_t useful = std::clamp<int64_t>(wanted, 1, Threads());
    AttentionWay way;
    way.slot = slot;
    way.slots = std::clamp<int64_t>(allowed, 1, useful);
    return way;
  }
  // With panels of whole heads, which parts of the queries share: threads as above.
  template <typename Scratch>
  static AttentionWay WithPanels(const AttentionShape& shape, Bytes most) {
    AttentionWay way;
    way.slot = Scratch::RowsSize(shape);
    way.panels = Scratch::PanelsSize(shape);
    const int64_t units = std::max<int64_t>(shape.units(), 1);
    const int64_t items = SaturatingMultiply(units, shape.PartsFor(Threads()));
    for (way.slots = std::clamp<int64_t>(items, 1, Threads());; --way.slots) {
      way.parts = shape.PartsFor(way.slots);
      way.heads = std::min((way.slots + way.parts - 1) / way.parts, units);
      if (way.parts == 1) way.heads = way.slots;
      if (way.slots == 1 || way.workspace() <= most) return way;
    }
  }
  Bytes workspace() const { return slot * slots + panels * heads; }
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
void Attend(const AttentionShape& shape, const Source& source, const Rows& rows,
            const AttentionWay& way, void* workspace) {
  using Scratch = AttentionScratch<Wide, Source::kCopiesRows>;
  const int64_t parts = way.parts;
  const int64_t block = shape.BlockRows();
  char* const panels = static_cast<char*>(workspace);
  const int64_t panels_size = Scratch::PanelsSize(shape).value();
  char* const scratches = panels + way.heads * panels_size;
  const int64_t together = parts == 1 ? shape.units() : way.heads;
  const auto pack = [&](int64_t unit, bool keys, const Scratch& scratch) {
    if (keys) {
      source.PackKeys(unit / shape.heads, unit % shape.heads, scratch.keys);
    } else {
      source.PackValues(unit / shape.heads, unit % shape.heads, scratch.values);
    }
  };
  for (int64_t unit = 0; unit < shape.units(); unit += together) {
    const int64_t units = std::min(together, shape.units() - unit);
    const int64_t shared = parts == 1 ? 0 : 2 * units;
    ParallelFor(shared, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        pack(unit + i / 2, i % 2 == 0, Scratch(shape, panels + i / 2 * panels_size, scratches));
      }
    });
    ParallelPieces(units * parts, way.slots, [&](int64_t item, int64_t slot) {
      const int64_t own = unit + item / parts;
      const int64_t panel = parts == 1 ? slot : item / parts;
      const Scratch scratch(shape, panels + panel * panels_size,
                            scratches + slot * Scratch::RowsSize(shape).value());
      for (const bool keys : {true, false}) {
        if (parts == 1) pack(own, keys, scratch);
      }
      const int64_t from = shape.queries * (item % parts) / parts;
      const int64_t to = shape.queries * (item % parts + 1) / parts;
      for (int64_t member = 0; member < shape.group(); ++member) {
        for (int64_t first = from; first < to; first += block) {
          AttendBlock(shape, source, rows, own / shape.heads,
                      own % shape.heads * shape.group() + member, first,
                      std::min(block, to - first), scratch);
        }
      }
    });
  }
}

}  // namespace plimsoll::kernels::cpu
