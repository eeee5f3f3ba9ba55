#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// When each buffer of a problem lives, in the form in which assigners ask. Immutable once made; any
// number of threads may ask. Batches are not looked at.
class Lifetimes {
 public:
  static Result<Lifetimes> Make(const Problem& problem);

  // Whether all lives are intervals on one line: then Begin and End say everything.
  bool one_line() const { return one_line_; }

  // Needs its bytes at no moment.
  bool Empty(BufferId buffer) const { return Begin(buffer) == End(buffer); }

  // On one line: the life [Begin, End), in moments that keep the problem's order. On several
  // streams: the hull of the life in one order of all steps that the streams allow, which is good
  // for choosing what to place first and for nothing else.
  int32_t Begin(BufferId buffer) const { return begin_[buffer.index()]; }
  int32_t End(BufferId buffer) const { return end_[buffer.index()]; }

  // Whether the two may hold bytes at the same moment. O(uses).
  bool Together(BufferId a, BufferId b) const;

 private:
  Status MakeOneLine(const Problem& problem);
  Status MakeSeveralStreams(const Problem& problem);
  bool Before(BufferId first, BufferId second) const;

  struct LastStep {
    uint32_t stream;
    int64_t step;
  };

  bool one_line_ = true;
  std::vector<int32_t> begin_;
  std::vector<int32_t> end_;
  // Several streams only: by buffer and stream, the latest step over before the buffer's first use.
  size_t streams_ = 0;
  std::vector<int64_t> over_before_;
  std::vector<std::vector<LastStep>> last_;
};

}  // namespace plimsoll::plan
