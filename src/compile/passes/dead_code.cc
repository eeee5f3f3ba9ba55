#include "compile/passes/dead_code.h"

#include <algorithm>

#include "compile/passes/bodies.h"
#include "compile/passes/rewriter.h"
#include "graph/operator_row.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

bool MayVanish(const graph::Node& node) {
  return MayRewrite(node) && graph::FindOperator(node.domain, node.op, node.version) != nullptr;
}

class Sweep {
 public:
  explicit Sweep(Graph& graph) : graph_(graph), needed_(graph.values.size()) {}

  // Backwards, so that every reader has been judged before what it reads.
  void Body(SubgraphId body) {
    for (const ValueId output : graph_[body].outputs) Need(output);
    std::vector<NodeId> kept;
    const std::vector<NodeId> nodes = graph_[body].nodes;
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
      const graph::Node& node = graph_[*id];
      const bool needed = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId value) {
        return value.valid() && needed_[value.index()];
      });
      if (!needed && MayVanish(node)) {
        graph_[*id].home = SubgraphId();
        counts_.Took(FusionPattern::kDeadCode);
        continue;
      }
      if (!needed) counts_.Declined(FusionPattern::kDeadCode);
      kept.push_back(*id);
      for (const SubgraphId inner : SubgraphsOf(node)) Body(inner);
      for (const ValueId value : ReadsOf(graph_, *id)) Need(value);
    }
    std::reverse(kept.begin(), kept.end());
    graph_[body].nodes = std::move(kept);
  }

  const FusionCounts& counts() const { return counts_; }

 private:
  void Need(ValueId value) {
    if (value.valid()) needed_[value.index()] = true;
  }

  Graph& graph_;
  std::vector<bool> needed_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts RemoveDeadCode(Graph& graph, const FusionSwitches& /*switches*/) {
  Sweep sweep(graph);
  sweep.Body(Graph::kRoot);
  return sweep.counts();
}

}  // namespace plimsoll::compile
