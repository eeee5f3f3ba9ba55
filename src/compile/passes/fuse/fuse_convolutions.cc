#include "compile/passes/fuse/fuse_convolutions.h"

#include <algorithm>

#include "compile/passes/fuse/channel_constants.h"
#include "compile/passes/fuse/fused_activation.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

using enum FusionPattern;

enum Input : size_t { kX, kWeights, kBias, kResidual, kInputs };

bool IsConvolution(const Node& node) {
  return Is(node, "Conv") || (node.domain == "plimsoll" && node.op == "FusedConv");
}

bool HasActivation(const Node& node) { return !node.attributes.String("activation", "").empty(); }

ValueId InputOf(const Node& node, size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : ValueId();
}

class ConvolutionFusing {
 public:
  ConvolutionFusing(Graph& graph, const FusionSwitches& switches)
      : graph_(graph), switches_(switches), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      const std::vector<NodeId> nodes = rewriter_.NodesOf(body);
      place_.assign(graph_.nodes.size(), 0);
      for (size_t i = 0; i < nodes.size(); ++i) place_[nodes[i].index()] = i;
      for (NodeId id : nodes) {
        while (id.valid() && IsCandidate(id)) id = TakeOver(id);
      }
    }
    return counts_;
  }

 private:
  bool IsCandidate(NodeId id) const {
    if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id]) || !IsConvolution(graph_[id])) {
      return false;
    }
    return IsFloat32(graph_, graph_[id].inputs[kX]) && !HasActivation(graph_[id]);
  }

  // Fuses the convolution with what reads it. Gives the node that the convolution is now; not valid
  // where nothing more can be fused.
  NodeId TakeOver(NodeId id) {
    const ValueId made = graph_[id].outputs[0];
    const NodeId reader = OnlyReader(rewriter_, made, graph_[id].home);
    if (!reader.valid()) {
      for (const NodeId other : rewriter_.readers(made)) Decline(other, made);
      return {};
    }
    if (Take(kConvBatchnorm, &ConvolutionFusing::TakeLine, id, reader) ||
        Take(kConvAdd, &ConvolutionFusing::TakeResidual, id, reader) ||
        Take(kConvActivation, &ConvolutionFusing::TakeActivation, id, reader)) {
      return reader;
    }
    Decline(reader, made);
    return {};
  }

  bool Take(FusionPattern pattern, bool (ConvolutionFusing::*take)(NodeId, NodeId), NodeId id,
            NodeId reader) {
    if (!switches_.IsOn(pattern) || !(this->*take)(id, reader)) return false;
    counts_.Took(pattern);
    return true;
  }

  // Counts what `reader` does to a convolution's result where it is of a kind that could be fused.
  void Decline(NodeId reader, ValueId made) {
    const Node& node = graph_[reader];
    const ValueId other = OtherInput(node, made);
    if (Is(node, "BatchNormalization") && node.inputs[0] == made) {
      counts_.Declined(kConvBatchnorm);
    } else if (IsArithmetic(node) && other.valid()) {
      const bool constant = graph_[other].constant.valid();
      if (constant || Is(node, "Add")) counts_.Declined(constant ? kConvBatchnorm : kConvAdd);
    } else if (ActivationAttributes(graph_, node) && node.inputs[0] == made) {
      counts_.Declined(kConvActivation);
    }
  }

  static bool IsArithmetic(const Node& node) {
    return Is(node, "Add") || Is(node, "Sub") || Is(node, "Mul") || Is(node, "Div");
  }

  // Into weights and bias.
  bool TakeLine(NodeId id, NodeId reader) {
    const Node& node = graph_[id];
    const ValueId made = node.outputs[0];
    const std::optional<int64_t> channels = DimOf(graph_, made, 1);
    const ValueId weights = node.inputs[kWeights];
    if (InputOf(node, kResidual).valid() || !channels || !graph_[weights].constant.valid()) {
      return false;
    }
    const std::optional<ChannelLine> line = ChannelLineOf(graph_, graph_[reader], made, *channels);
    if (!line) return false;
    Numbers bias{line->shift, line->assumed};
    if (const ValueId old = InputOf(node, kBias); old.valid()) {
      const Numbers before = NumbersOf(graph_, old, *channels);
      if (before.elements.size() != bias.elements.size()) return false;
      for (size_t c = 0; c < bias.elements.size(); ++c) {
        bias.elements[c] += before.elements[c] * line->scale[c];
      }
      bias.assumed |= before.assumed;
    }
    ValueId new_weights = weights;
    if (std::ranges::any_of(line->scale, [](double scale) { return scale != 1; })) {
      auto scaled = ScaledSlices(graph_[graph_[weights].constant], {line->scale, line->assumed});
      if (!scaled) return false;
      new_weights = rewriter_.AddConstant(reader, StrCat(graph_[weights].name, "/scaled"),
                                          *std::move(scaled));
    }
    const bool biased =
        InputOf(node, kBias).valid() ||
        std::ranges::any_of(bias.elements, [](double element) { return element != 0; });
    ValueId new_bias;
    if (biased) {
      auto vector = Float32Vector(bias);
      if (!vector) return false;
      new_bias =
          rewriter_.AddConstant(reader, StrCat(graph_[made].name, "/bias"), *std::move(vector));
    }
    const ValueId x = node.inputs[kX];
    Become(reader, id, {x, new_weights, new_bias}, {});
    return true;
  }

  bool TakeResidual(NodeId id, NodeId reader) {
    const Node& node = graph_[id];
    const ValueId made = node.outputs[0];
    if (!Is(graph_[reader], "Add") || InputOf(node, kResidual).valid()) return false;
    const ValueId other = OtherInput(graph_[reader], made);
    if (!other.valid() || !SameType(graph_, other, made) || graph_[other].constant.valid()) {
      return false;
    }
    // Of two convolutions that are added, the later one takes the sum: the earlier need not wait.
    const NodeId maker = graph_[other].producer;
    if (maker.valid() && graph_[maker].home == node.home && IsCandidate(maker) &&
        rewriter_.HasOneReader(other) && place_[maker.index()] > place_[id.index()]) {
      return false;
    }
    Become(reader, id, {node.inputs[kX], node.inputs[kWeights], InputOf(node, kBias), other}, {});
    return true;
  }

  bool TakeActivation(NodeId id, NodeId reader) {
    const std::optional<Attributes> activation = ActivationAttributes(graph_, graph_[reader]);
    if (!activation || graph_[reader].inputs[0] != graph_[id].outputs[0]) return false;
    Become(reader, id, graph_[id].inputs, *activation);
    return true;
  }

  // `reader` is the convolution `id` from now on, with these inputs and further attributes.
  void Become(NodeId reader, NodeId id, std::vector<ValueId> inputs, const Attributes& more) {
    while (!inputs.back().valid()) inputs.pop_back();
    Node& node = graph_[reader];
    node.domain = "plimsoll";
    node.op = "FusedConv";
    node.version = 1;
    node.attributes = graph_[id].attributes;
    SetAll(node.attributes, more);
    rewriter_.SetInputs(reader, std::move(inputs));
    rewriter_.Drop(id);
  }

  Graph& graph_;
  const FusionSwitches& switches_;
  Rewriter rewriter_;
  std::vector<size_t> place_;  // by node: where it stood in its body
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseConvolutions(Graph& graph, const FusionSwitches& switches) {
  return ConvolutionFusing(graph, switches).Run();
}

}  // namespace plimsoll::compile
