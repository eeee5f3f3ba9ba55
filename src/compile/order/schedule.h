#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::compile {

// Rows of the tables of a Schedule. They are plain numbers on purpose: the searches count with them
// (windows, distances, bit sets, -1 for none) in their inner loops.
using NodeRow = int32_t;
using ValueRow = int32_t;
using StorageRow = int32_t;

// What the search for an execution order sees of a graph: plain tables.
//
// Values share a storage when they are the same bytes: a view and what it views, a concatenation
// and the inputs that are written straight into it. A storage takes room from the moment its first
// value with bytes is written; each value's bytes come when that value is written; all go when the
// last node that reads or writes any value of the storage has run.
struct ScheduleValue {
  int64_t bytes = 0;        // what writing it adds; 0 for views, inputs, outputs, weights
  StorageRow storage = -1;  // below Schedule::storages
};

// The output may take over the bytes of the input when nobody reads the input's storage any more,
// and what that storage holds is exactly as large as the output.
struct InPlaceChance {
  ValueRow output = -1;
  ValueRow input = -1;
};

struct ScheduleNode {
  std::vector<ValueRow> reads;  // each once
  std::vector<ValueRow> writes;
  std::vector<InPlaceChance> in_place;  // the first that is possible is taken, one per output
  std::vector<NodeRow> after;           // must run before, beyond what reads imply
  int64_t workspace = 0;                // bytes while it runs
};

struct Schedule {
  std::vector<ScheduleNode> nodes;  // in the file's order, which is a legal one
  std::vector<ScheduleValue> values;
  StorageRow storages = 0;   // how many there are
  std::vector<bool> pinned;  // by storage: holds caller's memory or weights; never taken over
};

using Order = std::vector<NodeRow>;  // in order of execution

// One in-place decision of a walk: at `node`, `output` took over the bytes of `input`.
struct InPlaceTaken {
  NodeRow node = -1;
  ValueRow output = -1;
  ValueRow input = -1;
};

struct Walk {
  int64_t peak = 0;
  NodeRow peak_node = -1;  // the first that reaches it
  std::vector<InPlaceTaken> in_place;
};

// Whether every node comes once, after what writes its operands and after its `after`. Linear.
bool IsLegalOrder(const Schedule& schedule, std::span<const NodeRow> order);

// Runs the order through the rules above. Linear. The order must be legal (asserted).
Walk WalkOrder(const Schedule& schedule, std::span<const NodeRow> order);

}  // namespace plimsoll::compile
