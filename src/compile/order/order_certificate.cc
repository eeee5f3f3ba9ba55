#include "compile/order/order_certificate.h"

#include <algorithm>

#include "compile/memory/storage/storage_parts.h"
#include "plimsoll/plan/problem.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::MemoryAttributes;
using graph::Node;

bool RoundsAlike(const Graph& graph, const Storages& storages) {
  const StorageParts parts = DivideStorages(graph, storages);
  const bool parts_alike = std::ranges::all_of(parts.rows, [](const StorageParts::Row& row) {
    return std::ranges::all_of(row.brought, [](const StorageParts::Brought& brought) {
      return brought.bytes.value() % plan::kDefaultAlignment == 0;
    });
  });
  if (!parts_alike) return false;
  // Of several values that bring bytes to one storage, each is rounded separately.
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const StorageId storage = storages.places[i].storage;
    if (!storage.valid() || storages.fresh[i] == Bytes(0)) continue;
    const bool whole = storages.fresh[i] == storages[storage].bytes;
    if (!whole && storages.fresh[i].value() % plan::kDefaultAlignment != 0) return false;
  }
  return true;
}

bool IsPlain(const Node& node) {
  return node.memory.memory_type == MemoryAttributes::Type::kDevice && node.memory.stream == 0 &&
         SubgraphsOf(node).empty();
}

}  // namespace

bool CountsAsThePlanDoes(const Graph& graph, const PlanDraft& draft, const StableValues& stable,
                         const LifetimeOptions& options) {
  return options.reuse.inputs.empty() && options.reuse.outputs.empty() &&
         std::ranges::all_of(draft.root.nodes,
                             [&](graph::NodeId id) { return IsPlain(graph[id]); }) &&
         std::ranges::all_of(stable.keys, [](const std::string& key) { return key.empty(); }) &&
         RoundsAlike(graph, draft.storages);
}

}  // namespace plimsoll::compile
