#include "compile/passes/fuse/fused_activation.h"

#include <limits>

#include "compile/passes/fuse/patterns.h"
#include "graph/operator_row.h"

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

void SetSteps(const Attributes& given, Attributes& attributes) {
  if (given.Int("float_steps", 0) != 0) attributes.Set("activation_steps", int64_t{1});
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
  Attributes attributes = Named("Clip");
  attributes.Set("activation_alpha", *least);
  attributes.Set("activation_beta", *greatest);
  return attributes;
}

}  // namespace

std::optional<Attributes> ActivationAttributes(const Graph& graph, const Node& node) {
  const Attributes& given = node.attributes;
  if (Is(node, "Clip")) return ClipAttributes(graph, node);
  if (Is(node, "Gelu")) {
    const bool tanh = given.String("approximate", "none") == "tanh";
    Attributes attributes = Named(tanh ? "GeluTanh" : "Gelu");
    SetSteps(given, attributes);
    if (given.Int("of_quotient", 0) != 0) attributes.Set("activation_alpha", 1.0);
    return attributes;
  }
  const graph::FusedActivation& activation = graph::FactsOf(node).activation;
  if (!activation.fusable) return std::nullopt;
  Attributes attributes = Named(node.op);
  SetSteps(given, attributes);
  if (activation.parameters > 0) {
    attributes.Set("activation_alpha", given.Float("alpha", activation.alpha));
  }
  if (activation.parameters > 1) {
    attributes.Set("activation_beta", given.Float("beta", activation.beta));
  }
  return attributes;
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
