#include "compile/passes/fuse/fuse_normalizations.h"

#include <algorithm>
#include <cmath>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

using enum FusionPattern;

constexpr int kLayerNormalizationSince = 17;
constexpr int kRmsNormalizationSince = 23;

// The beginning of a normalisation: what is divided by the root of its mean square.
struct Standardized {
  ValueId x;
  double epsilon = 0;
  bool centered = false;  // the mean was subtracted before
};

class NormalizationFusing {
 public:
  NormalizationFusing(Graph& graph, const FusionSwitches& switches)
      : graph_(graph), switches_(switches), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) continue;
        if (Is(graph_[id], "Mul")) FuseAt(id);
      }
    }
    return counts_;
  }

 private:
  NodeId Maker(ValueId value, std::string_view op, NodeId near) const {
    return MadeBy(graph_, value, op, graph_[near].home);
  }

  // `id` multiplies by the scale: scale * standardized(x).
  void FuseAt(NodeId id) {
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const ValueId scale = graph_[id].inputs[side];
      const ValueId divided = graph_[id].inputs[1 - side];
      const std::optional<Standardized> found = FindStandardized(divided, id);
      if (!found) continue;
      const FusionPattern pattern = found->centered ? kLayerNorm : kRmsNorm;
      if (!switches_.IsOn(pattern)) continue;
      if (!rewriter_.HasOneReader(divided) || !IsFloat32(graph_, found->x) ||
          !IsAlongLast(scale, found->x) || !SameType(graph_, found->x, graph_[id].outputs[0])) {
        counts_.Declined(pattern);
        continue;
      }
      counts_.Took(pattern);
      Fuse(id, *found, scale);
      return;
    }
  }

  // Whether the value is a vector as long as the last dimension of x.
  bool IsAlongLast(ValueId value, ValueId x) const {
    const graph::Shape* shape = ShapeOf(graph_, value);
    const std::optional<int64_t> last = DimOf(graph_, x, -1);
    return shape != nullptr && shape->size() == 1 && last && (*shape)[0] == graph::Dim(*last) &&
           IsFloat32(graph_, value);
  }

  // d / sqrt(mean(d^2) + epsilon) or d * (1 / sqrt(...)).
  std::optional<Standardized> FindStandardized(ValueId value, NodeId near) const {
    if (const NodeId div = Maker(value, "Div", near); div.valid()) {
      const NodeId root = Maker(graph_[div].inputs[1], "Sqrt", near);
      if (!root.valid()) return std::nullopt;
      return FromMeanSquare(graph_[div].inputs[0], graph_[root].inputs[0], near);
    }
    const NodeId mul = Maker(value, "Mul", near);
    if (!mul.valid()) return std::nullopt;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const NodeId inverse = Maker(graph_[mul].inputs[side], "Reciprocal", near);
      if (!inverse.valid()) continue;
      const NodeId root = Maker(graph_[inverse].inputs[0], "Sqrt", near);
      if (!root.valid()) continue;
      return FromMeanSquare(graph_[mul].inputs[1 - side], graph_[root].inputs[0], near);
    }
    return std::nullopt;
  }

  std::optional<Standardized> FromMeanSquare(ValueId d, ValueId sum, NodeId near) const {
    const NodeId add = Maker(sum, "Add", near);
    if (!add.valid()) return std::nullopt;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const std::optional<double> epsilon = ScalarOf(graph_, graph_[add].inputs[side]);
      if (!epsilon) continue;
      const ValueId squares = MeanOfLast(graph_[add].inputs[1 - side], near);
      if (!squares.valid() || !IsSquareOf(squares, d, near)) continue;
      const NodeId sub = Maker(d, "Sub", near);
      if (sub.valid() && MeanOfLast(graph_[sub].inputs[1], near) == graph_[sub].inputs[0]) {
        return Standardized{graph_[sub].inputs[0], *epsilon, true};
      }
      return Standardized{d, *epsilon, false};
    }
    return std::nullopt;
  }

  bool IsSquareOf(ValueId value, ValueId d, NodeId near) const {
    if (const NodeId pow = Maker(value, "Pow", near); pow.valid()) {
      return graph_[pow].inputs[0] == d && IsScalar(graph_, graph_[pow].inputs[1], 2);
    }
    const NodeId mul = Maker(value, "Mul", near);
    return mul.valid() && graph_[mul].inputs == std::vector<ValueId>{d, d};
  }

  // What is averaged over its last dimension, which stays as a 1; not valid for other values.
  ValueId MeanOfLast(ValueId value, NodeId near) const {
    const NodeId id = Maker(value, "ReduceMean", near);
    if (!id.valid()) return {};
    const Node& node = graph_[id];
    if (node.attributes.Int("keepdims", 1) != 1) return {};
    std::vector<int64_t> axes;
    if (const auto* given = node.attributes.Ints("axes")) axes = *given;
    if (node.inputs.size() > 1) axes = IntegersOf(graph_, node.inputs[1]);
    const graph::Shape* shape = ShapeOf(graph_, node.inputs[0]);
    if (shape == nullptr || axes.size() != 1) return {};
    const auto rank = static_cast<int64_t>(shape->size());
    return axes[0] == -1 || axes[0] == rank - 1 ? node.inputs[0] : ValueId();
  }

  // The Add of a bias just after `id`; not valid where there is none.
  NodeId BiasAfter(NodeId id, ValueId x) const {
    const ValueId scaled = graph_[id].outputs[0];
    if (!rewriter_.HasOneReader(scaled)) return {};
    const NodeId add = rewriter_.readers(scaled)[0];
    if (!Is(graph_[add], "Add") || !MayRewrite(graph_[add]) ||
        graph_[add].home != graph_[id].home) {
      return {};
    }
    const ValueId bias = BiasOf(add, scaled);
    return bias != scaled && IsAlongLast(bias, x) ? add : NodeId();
  }

  ValueId BiasOf(NodeId add, ValueId scaled) const {
    const std::vector<ValueId>& inputs = graph_[add].inputs;
    return inputs[0] == scaled ? inputs[1] : inputs[0];
  }

  void Fuse(NodeId id, const Standardized& found, ValueId scale) {
    std::vector<ValueId> inputs = {found.x, scale};
    NodeId last = id;
    if (found.centered) {
      if (const NodeId add = BiasAfter(id, found.x); add.valid()) {
        inputs.push_back(BiasOf(add, graph_[id].outputs[0]));
        last = add;
      }
    }
    const std::vector<ValueId> old = graph_[last].inputs;
    Node& node = graph_[last];
    node.op = found.centered ? "LayerNormalization" : "RMSNormalization";
    node.version =
        std::max(node.version, found.centered ? kLayerNormalizationSince : kRmsNormalizationSince);
    node.attributes = graph::Attributes();
    node.attributes.Set("axis", int64_t{-1});
    node.attributes.Set("epsilon", found.epsilon);
    rewriter_.SetInputs(last, std::move(inputs));
    for (const ValueId input : old) rewriter_.DropUnused(graph_[input].producer);
  }

  Graph& graph_;
  const FusionSwitches& switches_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseNormalizations(Graph& graph, const FusionSwitches& switches) {
  return NormalizationFusing(graph, switches).Run();
}

}  // namespace plimsoll::compile
