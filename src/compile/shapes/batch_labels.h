#pragma once

#include <string>
#include <vector>

#include "compile/memory/storage/joined_storages.h"
#include "compile/memory/storage/variable_updates.h"
#include "graph/graph.h"
#include "plimsoll/base/status.h"

// Batches: nodes that carry a label (plimsoll.batch_label) run only in runs of that batch, nodes
// without one in every run. So buffers of two batches may lie in the same bytes.
namespace plimsoll::compile {

// Gives every node that needs a value of a batch, itself or in its bodies, the label of that batch,
// and the nodes of bodies the label of their owner. Refuses (graph.batch) a node that would belong
// to two batches, a node of a body whose label is not its owner's, and a batch that makes the new
// value of a variable. Doing it again changes nothing. Linear in the graph.
Status SpreadBatchLabels(graph::Graph& graph, const std::vector<VariableUpdate>& updates = {});

// The labels of a graph, each once, in the order in which the file names them.
std::vector<std::string> BatchesOf(const graph::Graph& graph);

// The batch that makes a value; empty: every run has it. Labels must have been spread.
const std::string& BatchOf(const graph::Graph& graph, graph::ValueId value);

// The batch that alone uses a storage's memory; empty: any run may.
std::string BatchOf(const graph::Graph& graph, const JoinedStorage& storage);

}  // namespace plimsoll::compile
