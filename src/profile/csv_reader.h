#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"

namespace plimsoll::profile {

// A row of an operator_memory table. Cells that are empty there are nothing here.
struct OperatorMemoryRow {
  int64_t device_id = 0;
  std::string name = {};
  Bytes size = {};  // negative: released in the window, allocated before it
  std::optional<double> allocation_us = {};
  std::optional<double> duration_us = {};
  std::optional<Bytes> allocation_allocated = {};
  std::optional<Bytes> allocation_reserved = {};
  std::optional<Bytes> release_allocated = {};
  std::optional<Bytes> release_reserved = {};
  std::string device = {};  // "CPU:0"
};

// How far a table could be read.
struct OperatorMemoryReading {
  int64_t rows = 0;
  int64_t bad_rows = 0;        // left out
  std::string first_bad = {};  // "line 7: Size(KB) 'x' is no number"
  bool truncated = false;      // the file ends inside a row
};

// Reads a table with the columns of operator_memory_<stamp>.csv, found by their headings, ours or
// another tool's: Name and Size(KB) must be there, and either Allocation Time(us) or nothing can be
// drawn, so that too. Rows that make no sense are counted and left out. Memory is bounded, however
// long the file or a line of it is. Fails (csv.heading) where the headings are others, (csv.rows)
// where no row could be read.
Result<OperatorMemoryReading> ReadOperatorMemory(
    std::istream& in, const std::string& file,
    const std::function<void(OperatorMemoryRow&&)>& take);

// Whether the first line of a file has those headings.
bool IsOperatorMemoryHeading(std::string_view text);

}  // namespace plimsoll::profile
