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
  explicit ScaleShiftFusing(Graph& graph)
      : graph_(graph), rewriter_(graph), quantizes_(RoundsToIntegers(graph)) {}

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

  // In a model that rounds floats to whole numbers a last bit decides, so that a normalization, and
  // a sum a channel before it, take ONNX Runtime's steps.
  bool FuseSteps(NodeId first, ValueId x, const ChannelLine& line) {
    std::vector<NodeId> nodes = {first};
    std::optional<Numbers> addend;
    if (!Is(graph_[first], "BatchNormalization")) {
      const NodeId reader = OnlyReader(rewriter_, graph_[first].outputs[0], graph_[first].home);
      const bool sum = !Is(graph_[first], "Mul") && !Is(graph_[first], "Div");
      if (!sum || !reader.valid()) return false;
      nodes.push_back(reader);
      addend = Numbers{line.shift, line.assumed};
    }
    const auto channels = static_cast<int64_t>(line.scale.size());
    const std::optional<ChannelLine> steps = Float32LineOf(graph_, graph_[nodes.back()], channels);
    if (!steps || !HasLongRows(x)) return false;
    std::optional<Attributes> activation;
    const ValueId made = graph_[nodes.back()].outputs[0];
    const NodeId reader = OnlyReader(rewriter_, made, graph_[first].home);
    if (reader.valid() && graph_[reader].inputs[0] == made) {
      activation = ActivationAttributes(graph_, graph_[reader]);
      if (activation) nodes.push_back(reader);
    }
    Attributes attributes = activation.value_or(Attributes());
    attributes.Set("float_steps", int64_t{1});
    Become(nodes, x, *steps, addend, attributes);
    return true;
  }

  void Visit(NodeId first) {
    const Node& node = graph_[first];
    const bool normalizes = Is(node, "BatchNormalization");
    const bool counts = Is(node, "Add") || Is(node, "Sub") || Is(node, "Mul") || Is(node, "Div");
    if (!normalizes && !counts) return;
    const ValueId x = DataOf(node);
    std::optional<ChannelLine> line = LineOf(first, x);
    if (!line || (!normalizes && !HasLongRows(x))) return;
    if (quantizes_ && FuseSteps(first, x, *line)) return;
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
    Become(nodes, x, *line, std::nullopt, activation.value_or(Attributes()));
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
              const std::optional<Numbers>& addend, const Attributes& attributes) {
    auto scale = Float32Vector({line.scale, line.assumed});
    auto shift = Float32Vector({line.shift, line.assumed});
    auto before = addend ? Float32Vector(*addend) : std::nullopt;
    if (!scale || !shift || (addend && !before)) return;
    const NodeId last = nodes.back();
    const std::string name = graph_[graph_[last].outputs[0]].name;  // values move as more come
    const ValueId factors = rewriter_.AddConstant(last, StrCat(name, "/scale"), *std::move(scale));
    const ValueId offsets = rewriter_.AddConstant(last, StrCat(name, "/shift"), *std::move(shift));
    std::vector<ValueId> inputs = {x, factors, offsets};
    if (before) {
      inputs.push_back(rewriter_.AddConstant(last, StrCat(name, "/addend"), *std::move(before)));
    }
    Node& node = graph_[last];
    node.domain = "plimsoll";
    node.op = "FusedScaleShift";
    node.version = 1;
    node.attributes = attributes;
    rewriter_.SetInputs(last, std::move(inputs));
    for (size_t i = nodes.size() - 1; i-- > 0;) rewriter_.Drop(nodes[i]);
    counts_.Took(kScaleShift);
  }

  Graph& graph_;
  Rewriter rewriter_;
  const bool quantizes_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts FuseScaleShifts(Graph& graph, const FusionSwitches&) {
  return ScaleShiftFusing(graph).Run();
}

}  // namespace plimsoll::compile
