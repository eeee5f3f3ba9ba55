#include "compile/memory/zero_copy.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool CarriesMultiBatchShape(const Graph& graph, ValueId input) {
  for (const auto& [key, value] : graph.metadata) {
    if (key != "plimsoll.multi_batch_shape") continue;
    const auto names = Split(value, ',');
    return std::find(names.begin(), names.end(), graph[input].name) != names.end();
  }
  return false;
}

bool IsNodeAndPeerNodeTaskSupportZeroCopy(const Graph& graph, const StableValues& stable,
                                          const JoinedStorage& storage, std::string& reason) {
  for (const ValueId value : storage.values) {
    if (!stable.Contains(value)) continue;
    const NodeId node = stable.demanded_by[value.index()];
    const bool writes = graph[value].producer == node;
    reason = graph[node].memory.no_address_refresh
                 ? StrCat(Describe(graph, node), ", which ", writes ? "writes" : "reads",
                          " it, cannot take a new address")
                 : StrCat(Describe(graph, node), " keeps the address of what it makes");
    return false;
  }
  return true;
}

ZeroCopyVerdict JudgeZeroCopy(const Graph& graph, const StableValues& stable,
                              const JoinedStorage& storage, const ReuseOptions& reuse) {
  ZeroCopyVerdict verdict;
  if (storage.home == Home::kVariable) return verdict;
  verdict.allowed = IsNodeAndPeerNodeTaskSupportZeroCopy(graph, stable, storage, verdict.reason);
  if (!verdict.allowed) return verdict;
  const auto holds = [&](ValueId value) {
    return std::find(storage.values.begin(), storage.values.end(), value) != storage.values.end();
  };
  for (const ValueId value : storage.values) {
    if (CarriesMultiBatchShape(graph, value)) return {false, "it carries multi-batch shapes"};
    const NodeId producer = graph[value].producer;
    if (!producer.valid()) continue;
    if (graph[producer].memory.memory_type != graph::MemoryAttributes::Type::kDevice) {
      return {false, StrCat(Describe(graph, producer), " writes memory of another type")};
    }
  }
  for (const int input : reuse.multi_batch_inputs) {
    if (holds(graph.root().inputs[static_cast<size_t>(input)])) {
      return {false, "it carries multi-batch shapes: the gears determine its sizes"};
    }
  }
  return verdict;
}

}  // namespace plimsoll::compile
