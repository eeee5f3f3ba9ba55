#pragma once

#include <string>
#include <vector>

#include "compile/memory/reuse_rules.h"
#include "compile/memory/storage/joined_storages.h"
#include "compile/passes/stable_values.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// Whether the caller's memory can stand for an input or output of the model, so that nothing is
// copied; where not, why.
struct ZeroCopyVerdict {
  bool allowed = true;
  std::string reason;
};

// The node and every node at the other end of the value can take a new address at each run.
bool IsNodeAndPeerNodeTaskSupportZeroCopy(const graph::Graph& graph, const StableValues& stable,
                                          const JoinedStorage& storage, std::string& reason);

// The verdict on a storage that holds an input or an output of the root graph. A variable's memory
// is the session's and never moves.
ZeroCopyVerdict JudgeZeroCopy(const graph::Graph& graph, const StableValues& stable,
                              const JoinedStorage& storage, const ReuseOptions& reuse);

// Model metadata `plimsoll.multi_batch_shape`: names of the inputs that carry multi-batch shapes.
bool CarriesMultiBatchShape(const graph::Graph& graph, graph::ValueId input);

}  // namespace plimsoll::compile
