#include "compile/passes/fuse/fused_activation.h"

#include <limits>

#include "compile/passes/fuse/patterns.h"

namespace plimsoll::compile {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

Attributes Named(std::string_view name) {
  Attributes attributes;
  attributes.Set("activation", std::string(name));
  return attributes;
}

Attributes Named(std::string_view name, double alpha) {
  Attributes attributes = Named(name);
  attributes.Set("activation_alpha", alpha);
  return attributes;
}

Attributes Named(std::string_view name, double alpha, double beta) {
  Attributes attributes = Named(name, alpha);
  attributes.Set("activation_beta", beta);
  return attributes;
}

// A bound of Clip: input `index`, or the attribute of old versions; nothing where only a run tells.
std::optional<double> Bound(const Graph& graph, const Node& node, size_t index,
                            std::string_view attribute, double open) {
  if (index < node.inputs.size() && node.inputs[index].valid()) {
    return ScalarOf(graph, node.inputs[index]);
  }
  return node.attributes.Float(attribute, open);
}

std::optional<Attributes> ClipAttributes(const Graph& graph, const Node& node) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const std::optional<double> least = Bound(graph, node, 1, "min", -kMost);
  const std::optional<double> greatest = Bound(graph, node, 2, "max", kMost);
  if (!least || !greatest || *least > *greatest) return std::nullopt;
  return Named("Clip", *least, *greatest);
}

}  // namespace

std::optional<Attributes> ActivationAttributes(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  for (const std::string_view plain : {"Relu", "Sigmoid", "Tanh", "HardSwish", "Mish"}) {
    if (node.op == plain) return Named(plain);
  }
  const Attributes& given = node.attributes;
  if (node.op == "LeakyRelu") return Named(node.op, given.Float("alpha", 0.01));
  if (node.op == "Elu" || node.op == "Swish") return Named(node.op, given.Float("alpha", 1));
  if (node.op == "HardSigmoid") {
    return Named(node.op, given.Float("alpha", 0.2), given.Float("beta", 0.5));
  }
  if (node.op == "Gelu") {
    return Named(given.String("approximate", "none") == "tanh" ? "GeluTanh" : "Gelu");
  }
  if (node.op == "Clip") return ClipAttributes(graph, node);
  return std::nullopt;
}

NodeId OnlyReader(const Rewriter& rewriter, ValueId value, graph::SubgraphId home) {
  if (!rewriter.HasOneReader(value)) return {};
  const NodeId reader = rewriter.readers(value)[0];
  const Node& node = rewriter.graph()[reader];
  return MayRewrite(node) && node.home == home ? reader : NodeId();
}

ValueId OtherInput(const Node& node, ValueId one) {
  if (node.inputs.size() != 2) return {};
  const ValueId other = node.inputs[0] == one ? node.inputs[1] : node.inputs[0];
  return other == one ? ValueId() : other;
}

void SetAll(Attributes& to, const Attributes& from) {
  for (const auto& [name, attribute] : from) to.Set(name, attribute);
}

}  // namespace plimsoll::compile
