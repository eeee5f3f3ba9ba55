#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::compile {

struct CompiledModel;

// A value that is made again for some of its readers, so that it need not live until they come.
struct Repetition {
  graph::ValueId value;
  std::vector<graph::NodeId> makers;  // to be repeated, in their order; the last makes the value
  // Readers that share one repetition each: those of one group see the same bytes.
  std::vector<std::vector<graph::NodeId>> readers;
};

enum class RepeatedWork {
  kMoves,  // nodes that take about as long as reading and writing their tensors
  kAny,
};

// Values of the root that live over steps which take more than `most`, though nobody touches them
// there, and whose makers need only what lives on anyway, or is much smaller. The largest first.
// The model must be planned on one stream. Near-linear.
std::vector<Repetition> FindRepetitions(const CompiledModel& model, Bytes most, RepeatedWork work);

// Repeats makers just before the first reader of each group, and gives how many nodes that adds.
int Repeat(graph::Graph& graph, std::span<const Repetition> repetitions);

}  // namespace plimsoll::compile
