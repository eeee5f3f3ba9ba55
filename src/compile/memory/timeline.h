#pragma once

#include <cstdint>
#include <vector>

#include "compile/memory/storage/storages.h"
#include "compile/order/schedule_builder.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// One moment of a run: a node runs, or a node with bodies begins or ends around what they do.
struct Step {
  enum class Kind { kRun, kBegin, kEnd };
  graph::NodeId node;
  Kind kind = Kind::kRun;
  int stream = 0;     // those that nodes ask for, numbered from 0 without gaps, in their order
  int64_t place = 0;  // the number of this step among those of its stream
};

// What happens to a value at a step.
struct Access {
  graph::ValueId value;
  int64_t step = 0;
  bool writes = false;
};

// The second step waits for the first, which is before it and on another stream.
struct StreamWait {
  int64_t before = 0;
  int64_t after = 0;
};

// The run of a whole model in one order: bodies stand where their node stands, branch after branch.
// Every access to a value that has a storage is listed, by step. What a loop reads it holds until
// it ends, since the next iteration reads it again; what it makes it holds from its beginning.
struct Timeline {
  std::vector<Step> steps;
  std::vector<Access> accesses;
  std::vector<int64_t> steps_of_stream;
  std::vector<StreamWait> waits;  // by `after`; once storages are joined (FindStreamWaits)
};

Timeline BuildTimeline(const graph::Graph& graph, const Storages& storages,
                       const std::vector<bool>& constant,
                       const std::vector<graph::NodeId>& root_order);

}  // namespace plimsoll::compile
