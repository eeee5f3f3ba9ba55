#include "graph/graph.h"

#include "plimsoll/base/text.h"

namespace plimsoll::graph {

std::string OperatorName(const Node& node) {
  return node.domain.empty() ? node.op : StrCat(node.domain, "::", node.op);
}

std::string Describe(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  const std::string name = node.name.empty() ? "" : StrCat(" '", node.name, "'");
  return StrCat("node ", id.index(), name, " (", OperatorName(node), ")");
}

std::vector<SubgraphId> SubgraphsOf(const Node& node) {
  std::vector<SubgraphId> found;
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* one = std::get_if<SubgraphId>(&attribute)) found.push_back(*one);
    if (const auto* many = std::get_if<std::vector<SubgraphId>>(&attribute)) {
      found.insert(found.end(), many->begin(), many->end());
    }
  }
  return found;
}

}  // namespace plimsoll::graph
