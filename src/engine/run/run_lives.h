#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compile/plan_model.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::engine {

// When a run holds a buffer of its feature map: steps [begin, end) of the plan's timeline.
struct RunLife {
  plan::BufferId buffer;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t offset = 0;
  int64_t size = 0;
  // Of the 512-byte cells of the feature map those that begin inside the buffer: what it adds to
  // the bytes handed out. Buffers that lie side by side share none.
  int64_t handed_out = 0;
  int32_t batch = -1;               // of the program's; kEveryBatch: every run holds it
  bool cleared = false;             // must keep the zeros that the run begins with
  std::vector<int64_t> last_steps;  // of each stream that uses it
};

// Of every buffer that holds bytes at some step, in the order of the plan's problem. `batches` are
// the program's.
std::vector<RunLife> RunLivesOf(const compile::PlannedModel& model,
                                const std::vector<std::string>& batches);

// Where the steps of each stream stand in the timeline; one stream at least.
std::vector<std::vector<int64_t>> StepsOfStreams(const compile::Timeline& timeline);

}  // namespace plimsoll::engine
