#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// Steps [begin, end) of one stream.
struct StreamSpan {
  uint32_t stream = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

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

  // Several streams only: the uses of a buffer, and the steps of a stream that are not in order
  // with all of them. A use of another buffer that keeps clear of this window is before or after.
  size_t streams() const { return streams_; }
  const std::vector<StreamSpan>& Uses(BufferId buffer) const { return uses_[buffer.index()]; }
  StreamSpan Window(BufferId buffer, uint32_t stream) const {
    const size_t at = buffer.index() * streams_ + stream;
    return {stream, over_before_[at] + 1, first_after_[at]};
  }

  // Whether the two may hold bytes at the same moment. O(uses).
  bool Together(BufferId a, BufferId b) const;

 private:
  Status MakeOneLine(const Problem& problem);
  Status MakeSeveralStreams(const Problem& problem);
  bool Before(BufferId first, BufferId second) const;

  bool one_line_ = true;
  std::vector<int32_t> begin_;
  std::vector<int32_t> end_;
  // Several streams only: by buffer and stream, the latest step that is over before the first use
  // and the first step that begins after the last.
  size_t streams_ = 0;
  std::vector<int64_t> over_before_;
  std::vector<int64_t> first_after_;
  std::vector<std::vector<StreamSpan>> uses_;
};

}  // namespace plimsoll::plan
