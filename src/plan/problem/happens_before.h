#pragma once

#include <cstdint>
#include <vector>

#include "plimsoll/base/status.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::plan {

// The partial order of the steps of all streams, as vector clocks that change only where a stream
// waits for another. Immutable once made; any number of threads may ask.
class HappensBefore {
 public:
  // Fails when the synchronisations wait for each other in a circle, or name no step.
  static Result<HappensBefore> Make(const Problem& problem);

  // One entry per stream: its latest step that is over before `step` of `stream` begins; -1 for
  // none. O(log synchronisations) plus one copy.
  std::vector<int64_t> Clock(StreamId stream, int64_t step) const;

 private:
  struct Wait {
    int64_t step;                // from this step of the waiting stream on
    std::vector<int64_t> clock;  // what is over
  };
  std::vector<std::vector<Wait>> waits_;  // by stream, ascending steps
};

}  // namespace plimsoll::plan
