#include "compile/passes/sink_transposes.h"

#include <algorithm>
#include <span>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "compile/shapes/shapes.h"
#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

using AxisOrder = std::vector<int64_t>;

bool IsJoin(const Node& node) {
  return Is(node, "Concat") ||
         (node.domain == graph::kContributedDomain && node.op == "QLinearConcat");
}

bool MayMoveBehind(const Node& node) {
  return graph::FactsOf(node).elementwise || IsElementwiseOfBytes(node) || IsJoin(node);
}

class Sinking {
 public:
  explicit Sinking(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) continue;
        if (Visit(id)) counts_.Took(FusionPattern::kTransposeSink);
      }
    }
    return counts_;
  }

 private:
  bool Visit(NodeId id) {
    const Node& node = graph_[id];
    if (!MayMoveBehind(node) || (IsJoin(node) && !GoesOn(id))) return false;
    const Shape* made = ShapeOf(graph_, node.outputs[0]);
    if (made == nullptr) return false;
    const AxisOrder* perm = CommonPermutation(id, made->size());
    if (perm == nullptr) return false;
    const AxisOrder moved = *perm;
    const std::vector<ValueId> old = node.inputs;
    Node inner = node;
    inner.outputs.clear();
    for (ValueId& operand : inner.inputs) {
      if (operand.valid()) operand = Untransposed(operand, moved, id);
    }
    // Operands that are turned are new nodes, and `node` may lie elsewhere since.
    if (IsJoin(inner)) {
      const int64_t axis = inner.attributes.Int("axis", 0);
      const auto rank = static_cast<int64_t>(moved.size());
      inner.attributes.Set("axis", moved[static_cast<size_t>(axis < 0 ? axis + rank : axis)]);
    }
    const ValueId result = rewriter_.InsertBefore(id, std::move(inner));
    graph_[result].name = StrCat(graph_[graph_[id].outputs[0]].name, "/transposed");
    Shape shape(moved.size());
    for (size_t i = 0; i < moved.size(); ++i) {
      shape[static_cast<size_t>(moved[i])] = (*ShapeOf(graph_, graph_[id].outputs[0]))[i];
    }
    graph_[result].type = graph_[graph_[id].outputs[0]].type;
    graph_[result].type.shape = std::move(shape);
    graph_[id].domain = "";
    graph_[id].op = "Transpose";
    graph_[id].version = graph::kNewest;
    graph_[id].attributes = Attributes();
    graph_[id].attributes.Set("perm", moved);
    rewriter_.SetInputs(id, {result});
    for (const ValueId operand : old) {
      if (operand.valid()) rewriter_.DropUnused(graph_[operand].producer);
    }
    return true;
  }

  // Behind a join a Transpose takes all of it at once, where the parts might have been written into
  // it one by one: worth it only where a Transpose comes next, or may move on.
  bool GoesOn(NodeId id) const {
    const ValueId made = graph_[id].outputs[0];
    const std::vector<NodeId> readers = rewriter_.readers(made);
    return !readers.empty() && !rewriter_.IsOutput(made) &&
           std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
             return Is(graph_[reader], "Transpose") || MayMoveBehind(graph_[reader]);
           });
  }

  bool IsOneNumber(ValueId constant) const {
    return graph_[graph_[constant].constant].ElementCount() == 1;
  }

  NodeId TransposeBehind(ValueId value, NodeId near) const {
    return MadeBy(graph_, value, "Transpose", graph_[near].home);
  }

  // The permutation by which every operand that is no constant was transposed; null where there is
  // none, or where no Transpose would vanish.
  const AxisOrder* CommonPermutation(NodeId id, size_t rank) {
    const AxisOrder* common = nullptr;
    bool vanishes = false;
    bool all_vanish = true;
    for (const ValueId operand : graph_[id].inputs) {
      if (!operand.valid()) continue;
      const Shape* shape = ShapeOf(graph_, operand);
      if (shape == nullptr) return nullptr;
      if (graph_[operand].constant.valid()) {
        if (IsElementwiseOfBytes(graph_[id]) && !IsOneNumber(operand)) return nullptr;
        continue;
      }
      const NodeId transpose = TransposeBehind(operand, id);
      if (!transpose.valid() || shape->size() != rank) return nullptr;
      const AxisOrder* perm = graph_[transpose].attributes.Ints("perm");
      if (perm == nullptr || (common != nullptr && *perm != *common)) return nullptr;
      common = perm;
      (rewriter_.HasOneReader(operand) ? vanishes : all_vanish) = rewriter_.HasOneReader(operand);
    }
    if (IsJoin(graph_[id])) vanishes = all_vanish;
    if (vanishes || common == nullptr) return common;
    counts_.Declined(FusionPattern::kTransposeSink);
    return nullptr;
  }

  // What the operand was before the Transpose by `perm`.
  ValueId Untransposed(ValueId operand, const AxisOrder& perm, NodeId place) {
    if (!graph_[operand].constant.valid()) {
      return graph_[graph_[operand].producer].inputs[0];
    }
    if (IsOneNumber(operand)) return operand;
    const graph::ConstantTensor& constant = graph_[graph_[operand].constant];
    const size_t rank = perm.size();
    std::vector<int64_t> whole(rank - constant.dims.size(), 1);
    whole.insert(whole.end(), constant.dims.begin(), constant.dims.end());
    const ValueId seen = View(operand, whole, place);
    AxisOrder inverse(rank);
    for (size_t i = 0; i < rank; ++i)
      inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    Shape shape;
    for (const int64_t axis : inverse) shape.push_back(whole[static_cast<size_t>(axis)]);
    Attributes attributes;
    attributes.Set("perm", inverse);
    const ValueId turned = rewriter_.InsertBefore(
        place, NewNode(graph_[place], "Transpose", {seen}, std::move(attributes)));
    graph_[turned].type =
        graph::ValueType::Tensor(graph_[operand].type.data_type, std::move(shape));
    return turned;
  }

  // The same constant under other dimensions.
  ValueId View(ValueId constant, const std::vector<int64_t>& dims, NodeId place) {
    graph::ConstantTensor tensor = graph_[graph_[constant].constant];
    tensor.dims = dims;
    return rewriter_.AddConstant(place, StrCat(graph_[constant].name, "/view"), std::move(tensor));
  }

  Graph& graph_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts SinkTransposes(Graph& graph, const FusionSwitches& /*switches*/) {
  return Sinking(graph).Run();
}

}  // namespace plimsoll::compile
