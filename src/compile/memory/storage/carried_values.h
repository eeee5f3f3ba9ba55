#pragma once

#include <functional>
#include <vector>

#include "compile/bodies/loops.h"
#include "compile/memory/storage/storages.h"
#include "graph/graph.h"
#include "kernels/backend.h"

namespace plimsoll::compile {

// A value that a loop's body is given, and the result that replaces it.
struct CarriedInBody {
  graph::SubgraphId body;
  const CarriedValue& carried;
  const std::vector<std::vector<graph::ValueId>>& reads;  // by node of the body (ReadsOf)
};

// Whether the body reads what it was given for the last time before it begins to write the storage
// of the result, or as it writes it, so that the result may lie in the same bytes. Its nodes run in
// their order. `storage_of` says where a value lies; not valid: it has no bytes.
bool IsReadBeforeItIsMade(const graph::Graph& graph, const kernels::Backend& backend,
                          const CarriedInBody& about,
                          const std::function<StorageId(graph::ValueId)>& storage_of);

}  // namespace plimsoll::compile
