#include "compile/passes/layout/channel_groups.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/layout/channel_group_rules.h"
#include "compile/passes/rewriter.h"
#include "compile/shapes/shapes.h"

namespace plimsoll::compile {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

constexpr size_t kResidual = 3;

bool IsOurs(const Node& node, std::string_view op) {
  return node.domain == "plimsoll" && node.op == op;
}

class ChannelGrouping {
 public:
  ChannelGrouping(Graph& graph, int group_size, bool filled_only)
      : graph_(graph), rewriter_(graph), group_size_(group_size), filled_only_(filled_only) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      native_.clear();
      reordered_.clear();
      const std::vector<NodeId> nodes = rewriter_.NodesOf(body);
      for (const NodeId id : nodes) {
        if (MayRewrite(graph_[id])) Visit(id);
      }
      for (const NodeId id : rewriter_.NodesOf(body)) GivePlain(id);
      for (const NodeId id : rewriter_.NodesOf(body)) TakePlain(id);
    }
    return counts_;
  }

 private:
  void Visit(NodeId id) {
    const Node& node = graph_[id];
    const ChannelGroupRule rule = RuleFor(graph_, node, group_size_);
    if (rule != ChannelGroupRule::kNone && filled_only_ && !IsFilled(node)) {
      // Others follow convolutions, and are not found where these are not.
      if (rule == ChannelGroupRule::kConvolution) GroupFilledSide(id);
      return;
    }
    switch (rule) {
      case ChannelGroupRule::kNone:
        return;
      case ChannelGroupRule::kConvolution:
        if (HasFewChannels(node.outputs[0]) && !IsNative(node.inputs[0])) {
          return counts_.Declined(FusionPattern::kChannelGroup);
        }
        return GroupConvolution(id);
      case ChannelGroupRule::kPool:
        if (IsNative(node.inputs[0])) GroupPool(id);
        return;
      case ChannelGroupRule::kElementwise:
        if (AllFullAreNative(node)) return GroupElementwise(id);
        if (AnyIsNative(node)) counts_.Declined(FusionPattern::kChannelGroup);
        return;
      case ChannelGroupRule::kConcat:
        if (AnyIsNative(node)) GroupConcat(id);
        return;
      case ChannelGroupRule::kScaleShift:
        if (IsNative(node.inputs[0])) GroupScaleShift(id);
        return;
    }
  }

  bool AnyIsNative(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId part) { return IsNative(part); });
  }

  bool Fills(ValueId image) const { return *DimOf(graph_, image, 1) % group_size_ == 0; }

  // Most of its groups would be zeros, which are worked out like the rest.
  bool HasFewChannels(ValueId image) const { return *DimOf(graph_, image, 1) * 4 <= group_size_; }

  bool IsFilled(const Node& node) const { return Fills(node.outputs[0]) && Fills(node.inputs[0]); }

  bool IsNative(ValueId value) const { return native_.contains(value); }

  bool AllFullAreNative(const Node& node) const {
    bool any = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId operand = node.inputs[i];
      if (i > 0 && Is(node, "Clip")) break;
      if (!operand.valid()) return false;
      if (OperandKind(graph_, operand, node.outputs[0]) != ChannelGroupOperand::kFull) continue;
      if (!IsNative(operand)) return false;
      any = true;
    }
    return any;
  }

  // The grouped form of a value: what already is, or a reorder just before `place`.
  ValueId Grouped(ValueId value, NodeId place) {
    if (const auto known = native_.find(value); known != native_.end()) return known->second;
    if (const auto known = reordered_.find(value); known != reordered_.end()) return known->second;
    const ValueId made = Insert(place, Ours("BlockChannels", {value}, GroupAttribute()));
    reordered_[value] = made;
    return made;
  }

  Attributes GroupAttribute() const {
    Attributes attributes;
    attributes.Set("block", int64_t{group_size_});
    return attributes;
  }

  Node Ours(std::string op, std::vector<ValueId> inputs, Attributes attributes) const {
    Node node;
    node.name = graph_[inputs[0]].name + "/" + op;
    node.domain = "plimsoll";
    node.op = std::move(op);
    node.version = 1;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    return node;
  }

  ValueId Insert(NodeId place, Node node) {
    const ValueId made = rewriter_.InsertBefore(place, std::move(node));
    [[maybe_unused]] const Status inferred = InferNode(graph_, graph_[made].producer);
    assert(inferred.ok());
    return made;
  }

  // `made` is the grouped form of what `id` makes; `id` itself only brings it to the plain form.
  void Replace(NodeId id, ValueId made) {
    const ValueId plain = graph_[id].outputs[0];
    native_[plain] = made;
    graph_[made].name = graph_[plain].name + "/blocked";
    Node& node = graph_[id];
    node.domain = "plimsoll";
    node.op = "UnblockChannels";
    node.version = 1;
    node.attributes = Attributes();
    node.attributes.Set("channels", *DimOf(graph_, plain, 1));
    rewriter_.SetInputs(id, {made});
    counts_.Took(FusionPattern::kChannelGroup);
  }

  // The convolution `id` with these forms; the operands are still as they were.
  Node Convolution(NodeId id, bool input_blocked, bool output_blocked) const {
    Node node = Ours("FusedConv", graph_[id].inputs, graph_[id].attributes);
    node.name = graph_[id].name;
    node.attributes.Set("input_blocked", int64_t{input_blocked});
    node.attributes.Set("output_blocked", int64_t{output_blocked});
    node.attributes.Set("channels", *DimOf(graph_, node.inputs[0], 1));
    node.attributes.Set("block", int64_t{group_size_});
    return node;
  }

  // A convolution between tensors that fill their groups reads it.
  bool FeedsGroupedConvolution(ValueId value) const {
    return std::ranges::any_of(rewriter_.readers(value), [&](NodeId reader) {
      const Node& node = graph_[reader];
      return RuleFor(graph_, node, group_size_) == ChannelGroupRule::kConvolution && IsFilled(node);
    });
  }

  // A convolution takes a plain tensor and gives a grouped one, or the other way round. Where no
  // other convolution gains by it, a grouped result would only be made plain again.
  void GroupFilledSide(NodeId id) {
    const std::vector<ValueId> inputs = graph_[id].inputs;
    const bool has_residual = inputs.size() > kResidual;
    if (Fills(graph_[id].outputs[0]) && (!has_residual || IsNative(inputs[kResidual])) &&
        FeedsGroupedConvolution(graph_[id].outputs[0])) {
      Node node = Convolution(id, false, true);
      if (has_residual) node.inputs[kResidual] = Grouped(inputs[kResidual], id);
      return Replace(id, Insert(id, std::move(node)));
    }
    if (!Fills(inputs[0]) || !IsNative(inputs[0])) {
      return counts_.Declined(FusionPattern::kChannelGroup);
    }
    Node taking = Convolution(id, true, false);
    Node& node = graph_[id];
    node.domain = taking.domain;
    node.op = taking.op;
    node.version = taking.version;
    node.attributes = taking.attributes;
    rewriter_.SetInput(id, 0, native_.at(inputs[0]));
    counts_.Took(FusionPattern::kChannelGroup);
  }

  void GroupConvolution(NodeId id) {
    Node node = Convolution(id, true, true);
    node.inputs[0] = Grouped(node.inputs[0], id);
    if (node.inputs.size() > kResidual)
      node.inputs[kResidual] = Grouped(node.inputs[kResidual], id);
    Replace(id, Insert(id, std::move(node)));
  }

  void GroupPool(NodeId id) {
    const Node& old = graph_[id];
    const bool global = !Is(old, "MaxPool") && !Is(old, "AveragePool");
    Node node = Ours("FusedPool", {old.inputs[0]}, global ? Attributes() : old.attributes);
    node.name = old.name;
    node.attributes.Set("kind", global ? std::string("GlobalAveragePool") : old.op);
    node.attributes.Set("channels", *DimOf(graph_, old.inputs[0], 1));
    node.attributes.Set("block", int64_t{group_size_});
    node.inputs[0] = Grouped(old.inputs[0], id);
    Replace(id, Insert(id, std::move(node)));
  }

  void GroupElementwise(NodeId id) {
    Node node = SameNode(id);
    for (ValueId& operand : node.inputs) {
      if (!operand.valid()) continue;
      if (OperandKind(graph_, operand, graph_[id].outputs[0]) == ChannelGroupOperand::kScalar)
        continue;
      operand = Grouped(operand, id);
    }
    Replace(id, Insert(id, std::move(node)));
  }

  void GroupConcat(NodeId id) {
    Node node = SameNode(id);
    node.attributes.Set("axis", int64_t{1});
    for (ValueId& part : node.inputs) part = Grouped(part, id);
    Replace(id, Insert(id, std::move(node)));
  }

  void GroupScaleShift(NodeId id) {
    Node node = SameNode(id);
    node.attributes.Set("input_blocked", int64_t{1});
    node.attributes.Set("channels", *DimOf(graph_, node.inputs[0], 1));
    node.attributes.Set("block", int64_t{group_size_});
    node.inputs[0] = Grouped(node.inputs[0], id);
    Replace(id, Insert(id, std::move(node)));
  }

  Node SameNode(NodeId id) const {
    Node node = graph_[id];
    node.outputs.clear();
    return node;
  }

  // A convolution whose grouped result is only brought to the plain form gives that itself.
  void GivePlain(NodeId id) {
    if (rewriter_.IsDropped(id) || !IsOurs(graph_[id], "UnblockChannels")) return;
    const ValueId made = graph_[id].inputs[0];
    const NodeId maker = graph_[made].producer;
    const ValueId plain = graph_[id].outputs[0];
    if (rewriter_.ReaderCount(plain) == 0 && !rewriter_.IsOutput(plain)) {
      rewriter_.DropUnused(id);
      return;
    }
    if (!IsOurs(graph_[maker], "FusedConv") || graph_[maker].inputs.size() > kResidual ||
        !rewriter_.HasOneReader(made)) {
      return;
    }
    Node& node = graph_[id];
    node.op = "FusedConv";
    node.name = graph_[maker].name;
    node.attributes = graph_[maker].attributes;
    node.attributes.Set("output_blocked", int64_t{0});
    rewriter_.SetInputs(id, graph_[maker].inputs);
    rewriter_.Drop(maker);
  }

  // A convolution that alone reads a tensor brought to the grouped form takes the plain one itself.
  void TakePlain(NodeId id) {
    if (rewriter_.IsDropped(id) || !IsOurs(graph_[id], "FusedConv")) return;
    const ValueId source = graph_[id].inputs[0];
    const NodeId maker = graph_[source].producer;
    if (!maker.valid() || !IsOurs(graph_[maker], "BlockChannels") ||
        !rewriter_.HasOneReader(source)) {
      return;
    }
    graph_[id].attributes.Set("input_blocked", int64_t{0});
    rewriter_.SetInput(id, 0, graph_[maker].inputs[0]);
    rewriter_.Drop(maker);
  }

  Graph& graph_;
  Rewriter rewriter_;
  int64_t group_size_;
  bool filled_only_;
  std::map<ValueId, ValueId> native_;     // plain values that a node makes in grouped form
  std::map<ValueId, ValueId> reordered_;  // others, brought to the grouped form
  FusionCounts counts_;
};

}  // namespace

FusionCounts GroupChannels(Graph& graph, int group_size) {
  return ChannelGrouping(graph, group_size, false).Run();
}

FusionCounts GroupFilledChannels(Graph& graph, int group_size) {
  return ChannelGrouping(graph, group_size, true).Run();
}

}  // namespace plimsoll::compile
