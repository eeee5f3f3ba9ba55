#include "compile/memory/reuse_rules.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

bool Names(const std::string& name, const graph::Node& node) {
  const bool fused = node.domain == "plimsoll" && node.op == StrCat("Fused", name);
  return name == node.name || name == node.op || name == graph::OperatorName(node) || fused;
}

}  // namespace

ReuseRules MakeReuseRules(const graph::Graph& graph, const ReuseOptions& options) {
  ReuseRules rules;
  rules.kept.assign(graph.nodes.size(), options.disabled);
  for (const std::string& name : options.not_of) {
    bool found = false;
    for (const graph::Subgraph& body : graph.subgraphs) {
      for (const graph::NodeId id : body.nodes) {
        if (!Names(name, graph[id])) continue;
        rules.kept[id.index()] = true;
        found = true;
      }
    }
    if (!found) rules.unknown.push_back(name);
  }
  return rules;
}

}  // namespace plimsoll::compile
