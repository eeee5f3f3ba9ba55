#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::compile {

// What the search for an execution order sees of a graph: plain tables, indices for ids.
//
// Values share a storage when they are the same bytes: a view and what it views, a concatenation
// and the inputs that are written straight into it. A storage takes room from the moment its first
// value with bytes is written; each value's bytes come when that value is written; all go when the
// last node that reads or writes any value of the storage has run.
struct ScheduleValue {
  int64_t bytes = 0;     // what writing it adds; 0 for views, inputs, outputs, weights
  int32_t storage = -1;  // index below Schedule::storages
};

// The output may take over the bytes of the input when nobody reads the input's storage any more,
// and what that storage holds is exactly as large as the output.
struct InPlaceChance {
  int32_t output = -1;  // values
  int32_t input = -1;
};

struct ScheduleNode {
  std::vector<int32_t> reads;           // values, each once
  std::vector<int32_t> writes;          // values
  std::vector<InPlaceChance> in_place;  // the first that is possible is taken, one an output
  std::vector<int32_t> after;           // nodes that must run before, beyond what reads imply
  int64_t workspace = 0;                // bytes while it runs
};

struct Schedule {
  std::vector<ScheduleNode> nodes;  // in the file's order, which is a legal one
  std::vector<ScheduleValue> values;
  int32_t storages = 0;
  std::vector<bool> pinned;  // by storage: holds caller's memory or weights; never taken over
};

using Order = std::vector<int32_t>;  // node indices, in order of execution

// One in-place decision of a walk: at `node`, `output` took over the bytes of `input`.
struct InPlaceTaken {
  int32_t node = -1;
  int32_t output = -1;
  int32_t input = -1;
};

struct Walk {
  int64_t peak = 0;
  int32_t peak_node = -1;  // the first that reaches it
  std::vector<InPlaceTaken> in_place;
};

// Whether every node comes once, after what writes its operands and after its `after`. Linear.
bool IsLegalOrder(const Schedule& schedule, std::span<const int32_t> order);

// Runs the order through the rules above. Linear. The order must be legal (asserted).
Walk WalkOrder(const Schedule& schedule, std::span<const int32_t> order);

}  // namespace plimsoll::compile
