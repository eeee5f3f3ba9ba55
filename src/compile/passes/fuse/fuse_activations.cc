#include "compile/passes/fuse/fuse_activations.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

// The operator set in which each became a standard operator.
constexpr int kGeluSince = 20;
constexpr int kSwishSince = 24;
constexpr int kHardSwishSince = 14;

class ActivationFusing {
 public:
  ActivationFusing(Graph& graph, const FusionSwitches& switches)
      : graph_(graph), switches_(switches), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) continue;
        if (Is(graph_[id], "Add") && switches_.IsOn(kGelu)) FuseGelu(id);
        if (Is(graph_[id], "Mul")) FuseGated(id);
      }
    }
    return counts_;
  }

 private:
  // The other operand of a node that has a constant scalar near `number`; not valid without one.
  ValueId OtherOperand(NodeId id, double number) const {
    const std::vector<ValueId>& inputs = graph_[id].inputs;
    if (IsScalar(graph_, inputs[1], number)) return inputs[0];
    if (IsScalar(graph_, inputs[0], number)) return inputs[1];
    return {};
  }

  ValueId Other(NodeId id, ValueId one) const {
    const std::vector<ValueId>& inputs = graph_[id].inputs;
    return inputs[0] == one ? inputs[1] : inputs[0];
  }

  NodeId Maker(ValueId value, std::string_view op, NodeId near) const {
    return MadeBy(graph_, value, op, graph_[near].home);
  }

  // The x in erf(x / sqrt(2)).
  ValueId ErrorFunctionArgument(NodeId erf) const {
    const ValueId scaled = graph_[erf].inputs[0];
    if (const NodeId div = Maker(scaled, "Div", erf); div.valid()) {
      const bool root = IsScalar(graph_, graph_[div].inputs[1], std::numbers::sqrt2);
      return root ? graph_[div].inputs[0] : ValueId();
    }
    const NodeId mul = Maker(scaled, "Mul", erf);
    return mul.valid() ? OtherOperand(mul, 1 / std::numbers::sqrt2) : ValueId();
  }

  bool IsCube(ValueId value, ValueId x, NodeId near) const {
    if (const NodeId pow = Maker(value, "Pow", near); pow.valid()) {
      return graph_[pow].inputs[0] == x && IsScalar(graph_, graph_[pow].inputs[1], 3);
    }
    const NodeId outer = Maker(value, "Mul", near);
    if (!outer.valid() || std::ranges::count(graph_[outer].inputs, x) == 0) return false;
    const NodeId square = Maker(Other(outer, x), "Mul", near);
    return square.valid() && graph_[square].inputs == std::vector<ValueId>{x, x};
  }

  // The x in tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)).
  ValueId TanhArgument(NodeId tanh) const {
    const NodeId scale = Maker(graph_[tanh].inputs[0], "Mul", tanh);
    if (!scale.valid()) return {};
    const ValueId sum = OtherOperand(scale, std::sqrt(2 / std::numbers::pi));
    const NodeId add = Maker(sum, "Add", tanh);
    if (!add.valid()) return {};
    for (const ValueId x : graph_[add].inputs) {
      const NodeId mul = Maker(Other(add, x), "Mul", tanh);
      if (!mul.valid()) continue;
      const ValueId cube = OtherOperand(mul, 0.044715);
      if (cube.valid() && IsCube(cube, x, tanh)) return x;
    }
    return {};
  }

  // At 1 + erf(...) or 1 + tanh(...): climbs the products above until they are 0.5 * x * it.
  void FuseGelu(NodeId id) {
    const ValueId curve = OtherOperand(id, 1);
    if (!curve.valid()) return;
    const NodeId erf = Maker(curve, "Erf", id);
    const NodeId tanh = Maker(curve, "Tanh", id);
    if (!erf.valid() && !tanh.valid()) return;
    const ValueId x = erf.valid() ? ErrorFunctionArgument(erf) : TanhArgument(tanh);
    if (!x.valid()) return;
    if (!rewriter_.HasOneReader(curve)) return counts_.Declined(kGelu);
    bool has_half = false;
    bool has_x = false;
    bool half_first = false;
    NodeId top = id;
    while (!has_half || !has_x) {
      const ValueId product = graph_[top].outputs[0];
      if (!rewriter_.HasOneReader(product)) return counts_.Declined(kGelu);
      const NodeId mul = rewriter_.readers(product)[0];
      if (!Is(graph_[mul], "Mul") || !MayRewrite(graph_[mul]) ||
          graph_[mul].home != graph_[id].home) {
        return;
      }
      const ValueId factor = Other(mul, product);
      const NodeId inner = Maker(factor, "Mul", id);
      if (!has_x && factor == x) {
        has_x = true;
      } else if (!has_half && IsScalar(graph_, factor, 0.5)) {
        has_half = true;
        half_first = !has_x;
      } else if (!has_x && !has_half && inner.valid() && OtherOperand(inner, 0.5) == x) {
        has_x = has_half = true;
      } else {
        return;
      }
      top = mul;
    }
    if (!SameType(graph_, x, graph_[top].outputs[0])) return counts_.Declined(kGelu);
    graph::Attributes attributes;
    attributes.Set("approximate", std::string(erf.valid() ? "none" : "tanh"));
    // ONNX Runtime does not take nodes in this order for a Gelu, and divides.
    const bool divides = erf.valid() && Maker(graph_[erf].inputs[0], "Div", id).valid();
    if (half_first && divides) attributes.Set("of_quotient", int64_t{1});
    counts_.Took(kGelu);
    Become(top, "Gelu", kGeluSince, x, std::move(attributes));
  }

  // x * Sigmoid(x), x * HardSigmoid(x).
  void FuseGated(NodeId id) {
    for (const ValueId x : graph_[id].inputs) {
      const ValueId gate = Other(id, x);
      if (gate == x) continue;
      const NodeId sigmoid = Maker(gate, "Sigmoid", id);
      if (sigmoid.valid() && graph_[sigmoid].inputs[0] == x && MayFuse(kSwish, gate)) {
        return Become(id, "Swish", kSwishSince, x, {});
      }
      const NodeId hard = Maker(gate, "HardSigmoid", id);
      if (hard.valid() && graph_[hard].inputs[0] == x &&
          NearlyEqual(graph_[hard].attributes.Float("alpha", 0.2), 1.0 / 6) &&
          NearlyEqual(graph_[hard].attributes.Float("beta", 0.5), 0.5) &&
          MayFuse(kHardSwish, gate)) {
        return Become(id, "HardSwish", kHardSwishSince, x, {});
      }
    }
  }

  // Counts a gate that was found. Whether it may vanish.
  bool MayFuse(FusionPattern pattern, ValueId gate) {
    if (!switches_.IsOn(pattern)) return false;
    const bool vanishes = rewriter_.HasOneReader(gate);
    vanishes ? counts_.Took(pattern) : counts_.Declined(pattern);
    return vanishes;
  }

  void Become(NodeId id, std::string op, int since, ValueId x, graph::Attributes attributes) {
    const std::vector<ValueId> old = graph_[id].inputs;
    Node& node = graph_[id];
    node.op = std::move(op);
    node.version = std::max(node.version, since);
    node.attributes = std::move(attributes);
    rewriter_.SetInputs(id, {x});
    for (const ValueId input : old) rewriter_.DropUnused(graph_[input].producer);
  }

  Graph& graph_;
  const FusionSwitches& switches_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseActivations(Graph& graph, const FusionSwitches& switches) {
  return ActivationFusing(graph, switches).Run();
}

}  // namespace plimsoll::compile
