#include "compile/passes/precision/float_steps.h"

#include <algorithm>
#include <vector>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

// What ONNX Runtime goes by: what the file says, and where it says nothing what can be told.
const Shape* KnownShape(const Graph& graph, ValueId value) {
  const graph::ValueType& declared = graph[value].declared;
  if (!declared.is_tensor()) return ShapeOf(graph, value);
  return declared.shape ? &*declared.shape : nullptr;
}

// Of three dimensions, with the same numbers or names of sizes.
bool KnownAlike(const Graph& graph, ValueId a, ValueId b) {
  const Shape *const one = KnownShape(graph, a), *const other = KnownShape(graph, b);
  return one != nullptr && other != nullptr && one->size() == 3 && *one == *other;
}

// Whether ONNX Runtime normalises the sum as it adds: where nothing else reads it.
bool NormalizesSum(const Graph& graph, const Rewriter& rewriter, const Node& node) {
  const ValueId x = node.inputs[0];
  const NodeId add = MadeBy(graph, x, "Add", node.home);
  return add.valid() && rewriter.HasOneReader(x) &&
         KnownAlike(graph, graph[add].inputs[0], graph[add].inputs[1]);
}

// What the file says of a tensor holds of its bytes too, of which tools that quantise say nothing.
void DeclareAsInput(Graph& graph, const Node& node) {
  if (!Is(node, "QuantizeLinear") && !Is(node, "DequantizeLinear")) return;
  const graph::ValueType& given = graph[node.inputs[0]].declared;
  graph::Value& made = graph[node.outputs[0]];
  if (!made.declared.is_tensor() && given.is_tensor() && given.shape) {
    made.declared = graph::ValueType::Tensor(made.type.data_type, *given.shape);
  }
}

bool IsKnown(const Shape* shape) {
  return shape != nullptr &&
         std::ranges::all_of(*shape, [](const graph::Dim& dim) { return dim.is_number(); });
}

bool IsOneElement(const Graph& graph, ValueId value) {
  const Shape* shape = ShapeOf(graph, value);
  return shape != nullptr && graph::ElementCount(*shape) == graph::Dim(1);
}

bool HasSteps(const Node& node) {
  return Is(node, "Gelu") || Is(node, "Sigmoid") || Is(node, "Swish");
}

}  // namespace

FusionCounts KeepOpenFactors(Graph& graph, const FusionSwitches&) {
  if (!RoundsToIntegers(graph)) return {};
  std::vector<bool> open(graph.values.size());  // depends on a size that nothing tells
  const auto is_open = [&](ValueId value) { return value.valid() && open[value.index()]; };
  for (const NodeId id : graph.root().nodes) {
    Node& node = graph[id];
    DeclareAsInput(graph, node);
    const bool from_open = std::ranges::any_of(node.inputs, is_open);
    const bool asks = Is(node, "Shape") && !IsKnown(KnownShape(graph, node.inputs[0]));
    for (const ValueId output : node.outputs) {
      if (output.valid()) open[output.index()] = from_open || asks;
    }
    if (!Is(node, "Mul")) continue;
    const bool keeps = std::ranges::any_of(
        node.inputs, [&](ValueId input) { return is_open(input) && IsOneElement(graph, input); });
    if (keeps) node.attributes.Set("float_steps", int64_t{1});
  }
  return {};
}

FusionCounts TakeFloatSteps(Graph& graph, const FusionSwitches&) {
  if (!RoundsToIntegers(graph)) return {};
  const Rewriter rewriter(graph);
  for (const SubgraphId body : SteadyBodies(graph)) {
    for (const NodeId id : graph[body].nodes) {
      Node& node = graph[id];
      if (HasSteps(node)) node.attributes.Set("float_steps", int64_t{1});
      if (!Is(node, "LayerNormalization")) continue;
      if (node.attributes.Int("of_skip", 0) != 0 || NormalizesSum(graph, rewriter, node)) {
        node.attributes.Set("running_means", int64_t{1});
      }
    }
  }
  return {};
}

}  // namespace plimsoll::compile
