#include "compile/passes/common_subexpressions.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compile/node_key.h"
#include "compile/passes/rewriter.h"
#include "graph/operator_row.h"
#include "kernels/catalogue.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// False for a node that is not to be merged; then the key is of no use.
bool AppendNode(std::string& key, const Node& node) {
  const bool known = graph::FindOperator(node.domain, node.op, node.version) != nullptr;
  if (!known || !MayRewrite(node) || !kernels::IsDeterministic(node)) return false;
  AppendNumber(key, node.inputs.size());
  for (const ValueId input : node.inputs) AppendNumber(key, input.valid() ? input.index() + 1 : 0);
  AppendNumber(key, node.outputs.size());
  for (const ValueId output : node.outputs) key += output.valid() ? 'o' : '-';
  return AppendOperator(key, node);
}

// The first of each kind, found by a key that is made anew for every comparison: keys of all would
// take more memory than the graph.
template <typename SomeId>
class FirstOfKind {
 public:
  // `append(key, id)` writes the key of `id`; false where it has none. Gives the first with the
  // same key; `id` itself where it is the first or has none.
  template <typename Append>
  SomeId Find(SomeId id, const Append& append) {
    key_.clear();
    if (!append(key_, id)) return id;
    std::vector<SomeId>& alike = first_[std::hash<std::string_view>()(key_)];
    for (const SomeId earlier : alike) {
      other_.clear();
      if (append(other_, earlier) && other_ == key_) return earlier;
    }
    alike.push_back(id);
    return id;
  }

 private:
  std::unordered_map<size_t, std::vector<SomeId>> first_;  // by hash of the key
  std::string key_;
  std::string other_;
};

// Shapes, axes and single numbers may be the same; vectors of weights are not compared, so that a
// plan comes to the same where their values are not known.
bool MayBeCompared(const graph::ConstantTensor& constant) {
  return !graph::IsFloating(constant.type) || constant.ElementCount() <= 1;
}

void MergeConstants(Rewriter& rewriter, FusionCounts& counts) {
  Graph& graph = rewriter.graph();
  FirstOfKind<ValueId> first;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId id(i);
    if (!graph[id].constant.valid() || graph[id].home != Graph::kRoot) continue;
    if (rewriter.ReaderCount(id) == 0 || rewriter.IsOutput(id)) continue;
    const ValueId same = first.Find(id, [&](std::string& key, ValueId value) {
      const graph::ConstantTensor& constant = graph[graph[value].constant];
      return MayBeCompared(constant) && AppendTensor(key, constant);
    });
    if (same == id) continue;
    rewriter.ReplaceUses(id, same);
    counts.Took(FusionPattern::kCommonSubexpression);
  }
}

bool Merge(Rewriter& rewriter, NodeId id, NodeId same) {
  Graph& graph = rewriter.graph();
  const std::vector<ValueId> outputs = graph[id].outputs;
  const auto returned = [&](ValueId value) { return value.valid() && rewriter.IsOutput(value); };
  // Half a merge would be wrong: two outputs of which one cannot be replaced.
  if (outputs.size() > 1 && std::any_of(outputs.begin(), outputs.end(), returned)) return false;
  const auto overwritten = [&](ValueId value) { return rewriter.IsOverwritten(value); };
  for (const std::vector<ValueId>& made : {outputs, graph[same].outputs}) {
    if (std::any_of(made.begin(), made.end(), overwritten)) return false;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].valid() && !rewriter.StandIn(outputs[i], graph[same].outputs[i])) return false;
  }
  rewriter.Drop(id);
  return true;
}

void MergeBody(Rewriter& rewriter, SubgraphId body, FusionCounts& counts) {
  const Graph& graph = rewriter.graph();
  FirstOfKind<NodeId> first;
  for (const NodeId id : rewriter.NodesOf(body)) {
    for (const SubgraphId inner : SubgraphsOf(graph[id])) MergeBody(rewriter, inner, counts);
    const NodeId same =
        first.Find(id, [&](std::string& key, NodeId node) { return AppendNode(key, graph[node]); });
    if (same == id) continue;
    if (Merge(rewriter, id, same)) {
      counts.Took(FusionPattern::kCommonSubexpression);
    } else {
      counts.Declined(FusionPattern::kCommonSubexpression);
    }
  }
}

}  // namespace

FusionCounts MergeCommonSubexpressions(Graph& graph, const FusionSwitches& /*switches*/) {
  Rewriter rewriter(graph);
  FusionCounts counts;
  MergeConstants(rewriter, counts);
  MergeBody(rewriter, Graph::kRoot, counts);
  return counts;
}

}  // namespace plimsoll::compile
