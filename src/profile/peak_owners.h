#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/csv_reader.h"

namespace plimsoll::profile {

// A row and its number in the file.
struct NumberedRow {
  int64_t number = 0;
  OperatorMemoryRow row = {};
};

// Which of the rows of a table live when the most is handed out, found in one reading: rows come in
// the order of their allocation times, which must be there. Memory follows the number of rows that
// live at one moment, up to `most`; beyond it the peak is known, its owners are not. Adding costs
// the logarithm of that number.
class PeakOwners {
 public:
  explicit PeakOwners(size_t most) : most_(most) {}

  void Add(const NumberedRow& row);
  // The row whose allocation reached the most, and all that live then.
  const std::optional<NumberedRow>& highest() const { return highest_; }
  std::vector<NumberedRow> Take();

 private:
  void EndBefore(double now);

  size_t most_;
  bool too_many_ = false;
  Bytes live_bytes_;
  Bytes most_bytes_;
  std::vector<NumberedRow> live_;  // a heap: the first to end on top
  std::vector<NumberedRow> gone_;  // that lived at the peak and ended since
  std::optional<NumberedRow> highest_;
};

}  // namespace plimsoll::profile
