#include "compile/passes/layout/channel_group_rules.h"

#include <algorithm>

#include "compile/passes/fuse/fused_activation.h"
#include "compile/passes/fuse/patterns.h"
#include "graph/operator_row.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::Shape;
using graph::ValueId;

constexpr size_t kLeastRank = 3;
constexpr size_t kMostRank = 5;

bool IsImage(const Graph& graph, ValueId value) {
  const Shape* shape = ShapeOf(graph, value);
  return IsFloat32(graph, value) && shape != nullptr && shape->size() >= kLeastRank &&
         shape->size() <= kMostRank && IsStatic(*shape);
}

bool FillsGroups(const Graph& graph, ValueId value, int64_t group_size) {
  return *DimOf(graph, value, 1) % group_size == 0;
}

bool IsGroupableConvolution(const Graph& graph, const Node& node, int64_t group_size) {
  const bool fused = node.domain == "plimsoll" && node.op == "FusedConv";
  if (!fused && !Is(node, "Conv")) return false;
  if (node.attributes.Int("input_blocked", 0) != 0 || !IsImage(graph, node.inputs[0])) return false;
  if (node.attributes.Int("output_blocked", 0) != 0) return false;
  const int64_t groups = node.attributes.Int("group", 1);
  const int64_t channels = *DimOf(graph, node.inputs[0], 1);
  const int64_t filters = *DimOf(graph, node.outputs[0], 1);
  if (groups == 1 || (groups == channels && groups == filters)) return true;
  return (channels / groups) % group_size == 0 && (filters / groups) % group_size == 0;
}

bool IsMeanOverSpace(const Graph& graph, const Node& node) {
  if (!Is(node, "ReduceMean") || node.attributes.Int("keepdims", 1) != 1) return false;
  std::vector<int64_t> axes;
  if (const auto* given = node.attributes.Ints("axes")) axes = *given;
  if (node.inputs.size() > 1) axes = IntegersOf(graph, node.inputs[1]);
  const auto rank = static_cast<int64_t>(ShapeOf(graph, node.inputs[0])->size());
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  if (static_cast<int64_t>(axes.size()) != rank - 2) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i) + 2) return false;
  }
  return true;
}

bool IsGroupablePool(const Graph& graph, const Node& node) {
  if (!IsImage(graph, node.inputs[0])) return false;
  if (Is(node, "GlobalAveragePool") || IsMeanOverSpace(graph, node)) return true;
  if (!Is(node, "MaxPool") && !Is(node, "AveragePool")) return false;
  if (node.outputs.size() > 1 && node.outputs[1].valid()) return false;
  if (Is(node, "AveragePool") && node.attributes.Int("ceil_mode", 0) != 0) return false;
  const std::vector<int64_t>* dilations = node.attributes.Ints("dilations");
  return dilations == nullptr ||
         std::all_of(dilations->begin(), dilations->end(), [](int64_t step) { return step == 1; });
}

bool ClipKeepsZeros(const Graph& graph, const Node& node) {
  const std::optional<graph::Attributes> bounds = ActivationAttributes(graph, node);
  return bounds && bounds->Float("activation_alpha", 0) <= 0 &&
         bounds->Float("activation_beta", 0) >= 0;
}

bool IsGroupableElementwise(const Graph& graph, const Node& node, int64_t group_size) {
  const bool fills = FillsGroups(graph, node.outputs[0], group_size);
  if (Is(node, "Clip"))
    return ActivationAttributes(graph, node) && (fills || ClipKeepsZeros(graph, node));
  const graph::OperatorFacts& facts = graph::FactsOf(node);
  if (!facts.elementwise || (!facts.keeps_zero && !fills)) return false;
  for (const ValueId operand : node.inputs) {
    const ChannelGroupOperand kind = OperandKind(graph, operand, node.outputs[0]);
    if (kind == ChannelGroupOperand::kNone) return false;
    if (kind == ChannelGroupOperand::kScalar && !fills && !Is(node, "Mul")) return false;
  }
  return true;
}

}  // namespace

ChannelGroupOperand OperandKind(const Graph& graph, ValueId operand, ValueId result) {
  if (!IsFloat32(graph, operand)) return ChannelGroupOperand::kNone;
  if (ScalarOf(graph, operand)) return ChannelGroupOperand::kScalar;
  if (graph[operand].constant.valid()) return ChannelGroupOperand::kNone;
  if (SameShape(graph, operand, result)) return ChannelGroupOperand::kFull;
  const Shape* shape = ShapeOf(graph, operand);
  const Shape& whole = *ShapeOf(graph, result);
  if (shape == nullptr || shape->size() != whole.size()) return ChannelGroupOperand::kNone;
  const bool batch = (*shape)[0] == whole[0] || (*shape)[0] == graph::Dim(1);
  const bool flat = std::all_of(shape->begin() + 2, shape->end(),
                                [](const graph::Dim& dim) { return dim == graph::Dim(1); });
  return batch && flat && (*shape)[1] == whole[1] ? ChannelGroupOperand::kChannels
                                                  : ChannelGroupOperand::kNone;
}

ChannelGroupRule RuleFor(const Graph& graph, const Node& node, int64_t group_size) {
  if (node.inputs.empty() || node.outputs.empty() || !node.outputs[0].valid() ||
      !IsImage(graph, node.outputs[0])) {
    return ChannelGroupRule::kNone;
  }
  if (IsGroupableConvolution(graph, node, group_size)) return ChannelGroupRule::kConvolution;
  const bool scale_shift = node.domain == "plimsoll" && node.op == "FusedScaleShift" &&
                           node.attributes.Int("input_blocked", 0) == 0 &&
                           node.attributes.Int("float_steps", 0) == 0;
  if (scale_shift) return ChannelGroupRule::kScaleShift;
  if (IsGroupablePool(graph, node)) return ChannelGroupRule::kPool;
  if (Is(node, "Concat")) {
    const int64_t axis = node.attributes.Int("axis", 0);
    const bool channels =
        axis == 1 || axis + static_cast<int64_t>(ShapeOf(graph, node.outputs[0])->size()) == 1;
    const bool whole = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId part) {
      return IsImage(graph, part) && FillsGroups(graph, part, group_size);
    });
    return channels && whole ? ChannelGroupRule::kConcat : ChannelGroupRule::kNone;
  }
  return IsGroupableElementwise(graph, node, group_size) ? ChannelGroupRule::kElementwise
                                                         : ChannelGroupRule::kNone;
}

}  // namespace plimsoll::compile
