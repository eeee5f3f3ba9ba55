#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/plan/assigner.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// Buffers as a table in text: one region, one stream. The first line names the columns, in any
// order: `id`, `lower`, `upper` and `size` are needed; `alignment`, `gaps`, `hint`, `offset` and
// `name` may follow. A life is [lower, upper). An empty cell means the default. In a question
// `offset` is a fixed offset; in an answer it is where the buffer lies. `gaps` are moments of its
// life at which a buffer needs none of its bytes: "3-5 7-9" is [3, 5) and [7, 9). `hint` is read
// over. `name` is what people call the buffer; a cell in quotes may have commas. This is the form
// of MiniMalloc's benchmarks, and `name`.
struct BufferTable {
  // Of a buffer with gaps the first part of its life; behind all rows stand buffers for the other
  // parts, each a window of the whole of it.
  Problem problem;
  std::vector<std::optional<Offset>> offsets;  // one per row
  std::vector<int64_t> lines;                  // one per row: where it stands in the text
  std::vector<std::vector<Use>> gaps = {};     // one per row, ascending; empty: nobody has any
  std::vector<std::string> names = {};         // one per row; empty: the table has no such column
};

// Refuses what is no such table, with the line and the reason. `file` is for the error only.
Result<BufferTable> ReadBufferTable(std::string_view csv, std::string_view file = "the table");

// The table of the same columns with every buffer's `offset`.
std::string WriteBufferTable(const Problem& problem, const std::vector<Offset>& offsets);
// The same with gaps and names, where the table has any; the offsets of its rows come first.
std::string WriteBufferTable(const BufferTable& table, const std::vector<Offset>& offsets);

// What a question gets when nobody says how hard to try. Who names a capacity wants that answer:
// the search runs on, in rounds of growing steps, until it has found a placement or proven that
// there is none, or until 10 s have passed. Without a capacity: 100,000 steps, or 16 per buffer
// where that is more, so that every buffer of a large table has its turn; with more than 100,000
// buffers a peak of at most 1.0001 of the lower bound is good enough.
Effort DefaultEffort(const Problem& problem, std::optional<Bytes> capacity);

// What is asked of Pack.
struct PackOptions {
  std::optional<Bytes> capacity = {};  // unset: as low as possible
  Effort effort = {};
  std::string assigner = "hybrid";
  int threads = 1;  // of "hybrid"; the answer does not depend on it
};

// What `plimsoll pack` tells. Seconds are the caller's to measure.
struct PackAnswer {
  Bytes peak_bytes;
  Bytes lower_bound_bytes;
  bool fits = false;        // no capacity was given, or the peak is within it
  bool optimal = false;     // proven: no placement is lower
  bool infeasible = false;  // proven: nothing fits into the capacity
  bool deadline_hit = false;
  std::string assigner;
  std::vector<Offset> offsets;  // one per buffer of the table's problem
  // Only when `infeasible`: buffers that cannot be placed together.
  std::vector<BufferId> infeasible_set;
  bool infeasible_set_minimal = false;  // proven: without any one of them the others fit
};

// Places the buffers of a table and verifies the answer. An answer that does not fit is no error.
Result<PackAnswer> Pack(const BufferTable& table, const PackOptions& options);

// The same without a copy of the problem, whose buffers get the table's fixed offsets.
Result<PackAnswer> PackInPlace(BufferTable& table, const PackOptions& options);

// The same from text; fixed offsets come from the `offset` column.
Result<PackAnswer> PackText(std::string_view csv, const PackOptions& options,
                            std::string_view file = "the table");

// What an answer of anybody reaches, if it is right: every buffer has an offset, it is aligned, and
// no two that live together share bytes. Else the first mistake with its line.
struct CheckAnswer {
  Bytes peak_bytes;
  Bytes lower_bound_bytes;
  bool fits = false;
};
Result<CheckAnswer> CheckText(std::string_view csv, std::optional<Bytes> capacity,
                              std::string_view file = "the table");

}  // namespace plimsoll::plan
