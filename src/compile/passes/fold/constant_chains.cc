#include "compile/passes/fold/constant_chains.h"

#include <algorithm>
#include <unordered_set>

#include "compile/memory/storage/views.h"
#include "compile/shapes/shapes.h"
#include "graph/operator_row.h"
#include "kernels/backend.h"
#include "kernels/catalogue.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr Bytes kAlwaysAllowed(int64_t{4} << 20);
constexpr int64_t kShareOfWeights = 32;
constexpr Bytes kSmall(int64_t{1} << 20);
// Work on large tensors: a node that goes element by element counts one, any other two.
constexpr int kWorthKeeping = 3;
constexpr size_t kLongestChain = 100;  // nodes looked at

Bytes AllowedOf(const Graph& graph) {
  Bytes weights;
  for (const graph::ConstantTensor& constant : graph.constants) weights += constant.Size();
  return std::max(kAlwaysAllowed, Bytes(weights.value() / kShareOfWeights));
}

// The nodes that a first one leads to and that read nothing but constants and each other.
class Chain {
 public:
  Chain(const Rewriter& rewriter, NodeId first) : rewriter_(rewriter), graph_(rewriter.graph()) {
    nodes_ = {first};
    for (size_t i = 0; i < nodes_.size() && nodes_.size() < kLongestChain; ++i) {
      for (const ValueId made : graph_[nodes_[i]].outputs) {
        if (!made.valid()) continue;
        made_.insert(made.index());
        for (const NodeId reader : rewriter_.readers(made)) Take(reader);
      }
    }
  }

  // False where a tensor is larger than `allowed`, or of a size that is not known.
  bool Measure(Bytes allowed) {
    for (const NodeId id : nodes_) {
      Bytes bytes;
      for (const ValueId made : graph_[id].outputs) {
        if (!made.valid()) continue;
        const std::optional<Bytes> size = SizeOf(graph_[made].type);
        if (!size || *size > allowed) return false;
        bytes += *size;
        if (IsResult(made)) results_ += *size;
      }
      if (bytes <= kSmall || IsPlainView(graph_[id])) continue;
      work_ += graph::FactsOf(graph_[id]).elementwise ? 1 : 2;
    }
    return true;
  }

  int work() const { return work_; }
  Bytes results() const { return results_; }

 private:
  void Take(NodeId reader) {
    const graph::Node& node = graph_[reader];
    const bool known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input.valid() || graph_[input].constant.valid() || made_.contains(input.index());
    });
    const bool taken = std::find(nodes_.begin(), nodes_.end(), reader) != nodes_.end();
    if (!known || taken || !MayRewrite(node) || !SubgraphsOf(node).empty()) return;
    if (!kernels::IsDeterministic(node)) return;
    if (kernels::HostBackend().Supports(graph_, reader)) nodes_.push_back(reader);
  }

  bool IsResult(ValueId made) const {
    const std::vector<NodeId> readers = rewriter_.readers(made);
    return rewriter_.IsOutput(made) ||
           std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
             return std::find(nodes_.begin(), nodes_.end(), reader) == nodes_.end();
           });
  }

  const Rewriter& rewriter_;
  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::unordered_set<size_t> made_;
  int work_ = 0;
  Bytes results_;
};

}  // namespace

ConstantChains::ConstantChains(const Rewriter& rewriter)
    : rewriter_(rewriter), allowed_(AllowedOf(rewriter.graph())), left_(allowed_) {}

bool ConstantChains::Keeps(NodeId first) {
  Chain chain(rewriter_, first);
  if (!chain.Measure(allowed_)) return false;
  if (chain.results() <= kSmall) return true;
  if (chain.work() < kWorthKeeping || chain.results() > left_) return false;
  left_ -= chain.results();
  return true;
}

}  // namespace plimsoll::compile
