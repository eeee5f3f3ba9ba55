#include "compile/passes/precision/sum_steps.h"

#include <algorithm>
#include <vector>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"

namespace plimsoll::compile {
namespace {

using graph::Dim;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

constexpr int64_t kAsConstant = 1, kAsItIs = 2;

class SumStepsTaking {
 public:
  explicit SumStepsTaking(Graph& graph) : graph_(graph), rewriter_(graph) {
    for (size_t i = 0; i < graph.values.size(); ++i) {
      constant_.push_back(graph.values[i].constant.valid());
    }
    open_ = std::ranges::any_of(graph.root().inputs, [&](ValueId input) {
      const graph::ValueType& declared = graph[input].declared;
      return !declared.is_tensor() || !declared.shape || !IsStatic(*declared.shape);
    });
  }

  void Run() {
    for (const NodeId id : graph_.root().nodes) {
      Node& node = graph_[id];
      FollowConstants(node);
      const bool gemm = Is(node, "Gemm");
      if ((!gemm && !Is(node, "MatMul")) || !IsFloat32(graph_, node.outputs[0])) continue;
      const Shape* const right = ShapeOf(graph_, node.inputs[1]);
      const bool packs =
          constant_[node.inputs[1].index()] && right != nullptr && right->size() == 2;
      node.attributes.Set("sum_steps", packs ? kAsConstant : kAsItIs);
      if (!gemm && !BecomesGemm(node)) node.attributes.Set("bias_last", int64_t{1});
    }
  }

 private:
  static bool IsStatic(const Shape& shape) {
    return std::ranges::all_of(shape, [](const Dim& dim) { return dim.is_number(); });
  }

  // ONNX Runtime folds whatever is constant, but for what it keeps as bytes.
  void FollowConstants(const Node& node) {
    const bool folded = !node.inputs.empty() && !Is(node, "DequantizeLinear") &&
                        std::ranges::all_of(node.inputs, [&](ValueId input) {
                          return !input.valid() || constant_[input.index()];
                        });
    if (!folded) return;
    for (const ValueId output : node.outputs) {
      if (output.valid()) constant_[output.index()] = true;
    }
  }

  // Whether ONNX Runtime makes a Gemm of the product and of the Add behind it: its sums begin with
  // the bias.
  bool BecomesGemm(const Node& product) const {
    const ValueId made = product.outputs[0];
    if (!rewriter_.HasOneReader(made) || rewriter_.IsOutput(made)) return false;
    const Node& add = graph_[rewriter_.readers(made).front()];
    if (!Is(add, "Add")) return false;
    const ValueId other = add.inputs[add.inputs[0] == made ? 1 : 0];
    const Shape* const left = ShapeOf(graph_, product.inputs[0]);
    const Shape* const right = ShapeOf(graph_, product.inputs[1]);
    const Shape* const bias = ShapeOf(graph_, other);
    if (left == nullptr || right == nullptr || bias == nullptr || right->size() != 2 ||
        bias->empty() || bias->back() != right->back()) {
      return false;
    }
    if (left->size() > 2) {
      const bool known = !open_ && IsStatic(*left);
      return known && bias->size() == 1;
    }
    const bool rows = bias->size() == 2 && ((*bias)[0] == Dim(1) || (*bias)[0] == (*left)[0]);
    return left->size() == 2 && (bias->size() == 1 || rows);
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::vector<bool> constant_;  // by value: for ONNX Runtime, too
  bool open_ = false;           // an input has sizes that the file does not tell
};

}  // namespace

FusionCounts TakeSumSteps(Graph& graph, const FusionSwitches&) {
  if (RoundsToIntegers(graph)) SumStepsTaking(graph).Run();
  return {};
}

}  // namespace plimsoll::compile
