#include "engine/graph/memory_demands.h"

#include "plimsoll/base/text.h"

namespace plimsoll::engine {

Status CheckNodeByNode(const graph::Graph& graph) {
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const graph::NodeId id : body.nodes) {
      graph::MemoryAttributes asked = graph[id].memory;
      asked.needs_clearing.clear();
      asked.reference_outputs.clear();
      asked.batch_label.clear();
      if (IsOrdinary(asked)) continue;
      return Error{
          .kind = ErrorKind::kUnsupported,
          .code = "run.memory_attribute",
          .what = "the run was refused",
          .where = Describe(graph, id),
          .why = StrCat("it asks for memory (", Text(asked),
                        ") that only a plan gives, and this model is run node by node"),
          .remedy =
              "leave the attribute out, or give the model sizes that do not follow from data"};
    }
  }
  return {};
}

}  // namespace plimsoll::engine
