#include "compile/passes/fuse/fuse_scale_shifts.h"

#include <algorithm>
#include <optional>

#include "compile/passes/fuse/channel_constants.h"
#include "compile/passes/fuse/fused_activation.h"
#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "plimsoll/base/bytes.h"
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

bool IsSame(const std::vector<double>& elements) {
  return std::ranges::all_of(elements, [&](double one) { return one == elements[0]; });
}

class ScaleShiftFusing {
 public:
  explicit ScaleShiftFusing(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (!rewriter_.IsDropped(id) && MayRewrite(graph_[id])) Visit(id);
      }
    }
    return counts_;
  }

 private:
  // What the node does to the input that is no constant.
  std::optional<ChannelLine> LineOf(NodeId id, ValueId x) const {
    const std::optional<int64_t> channels = DimOf(graph_, x, 1);
    if (!IsFloat32(graph_, x) || !channels || *channels < 1) return std::nullopt;
    return ChannelLineOf(graph_, graph_[id], x, *channels);
  }

  ValueId DataOf(const Node& node) const {
    const bool second = node.inputs.size() == 2 && graph_[node.inputs[0]].constant.valid();
    return node.inputs[second ? 1 : 0];
  }

  // Whether a channel has so many elements that a row of each costs less than a node for all.
  bool HasLongRows(ValueId x) const {
    constexpr int64_t kLong = 16;
    int64_t length = 1;
    for (size_t axis = 2; axis < ShapeOf(graph_, x)->size(); ++axis) {
      length =
          SaturatingMultiply(length, DimOf(graph_, x, static_cast<int64_t>(axis)).value_or(kLong));
    }
    return length >= kLong;
  }

  void Visit(NodeId first) {
    const Node& node = graph_[first];
    const bool normalizes = Is(node, "BatchNormalization");
    const bool counts = Is(node, "Add") || Is(node, "Sub") || Is(node, "Mul") || Is(node, "Div");
    if (!normalizes && !counts) return;
    const ValueId x = DataOf(node);
    std::optional<ChannelLine> line = LineOf(first, x);
    if (!line || (!normalizes && !HasLongRows(x))) return;
    std::vector<NodeId> nodes = {first};
    std::optional<Attributes> activation;
    while (!activation) {
      const ValueId made = graph_[nodes.back()].outputs[0];
      const NodeId reader = OnlyReader(rewriter_, made, graph_[first].home);
      if (!reader.valid()) break;
      if (const std::optional<ChannelLine> next = LineOf(reader, made)) {
        Append(*next, *line);
      } else if (graph_[reader].inputs[0] == made) {
        activation = ActivationAttributes(graph_, graph_[reader]);
        if (!activation) break;
      } else {
        break;
      }
      nodes.push_back(reader);
    }
    const bool per_channel = !IsSame(line->scale) || !IsSame(line->shift);
    if (!normalizes && !per_channel) return;
    Become(nodes, x, *line, activation.value_or(Attributes()));
  }

  // `line`, then `next`.
  static void Append(const ChannelLine& next, ChannelLine& line) {
    for (size_t c = 0; c < line.scale.size(); ++c) {
      line.scale[c] *= next.scale[c];
      line.shift[c] = line.shift[c] * next.scale[c] + next.shift[c];
    }
    line.assumed |= next.assumed;
  }

  // The last node does what all of them did.
  void Become(const std::vector<NodeId>& nodes, ValueId x, const ChannelLine& line,
              const Attributes& activation) {
    auto scale = Float32Vector({line.scale, line.assumed});
    auto shift = Float32Vector({line.shift, line.assumed});
    if (!scale || !shift) return;
    const NodeId last = nodes.back();
    const std::string name = graph_[graph_[last].outputs[0]].name;  // values move as more come
    const ValueId factors = rewriter_.AddConstant(last, StrCat(name, "/scale"), *std::move(scale));
    const ValueId offsets = rewriter_.AddConstant(last, StrCat(name, "/shift"), *std::move(shift));
    Node& node = graph_[last];
    node.domain = "plimsoll";
    node.op = "FusedScaleShift";
    node.version = 1;
    node.attributes = activation;
    rewriter_.SetInputs(last, {x, factors, offsets});
    for (size_t i = nodes.size() - 1; i-- > 0;) rewriter_.Drop(nodes[i]);
    counts_.Took(kScaleShift);
  }

  Graph& graph_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseScaleShifts(Graph& graph, const FusionSwitches&) {
  return ScaleShiftFusing(graph).Run();
}

}  // namespace plimsoll::compile
