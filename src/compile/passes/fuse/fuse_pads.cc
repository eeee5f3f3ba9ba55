#include "compile/passes/fuse/fuse_pads.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "graph/infer_context.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

// Of every axis of the data.
struct Padding {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
  double value = 0;
};

class PadFusing {
 public:
  explicit PadFusing(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (rewriter_.IsDropped(id) || !MayRewrite(graph_[id])) continue;
        const Node& node = graph_[id];
        if (!Is(node, "Conv") && !Is(node, "MaxPool") && !Is(node, "AveragePool")) continue;
        const NodeId pad = MadeBy(graph_, node.inputs[0], "Pad", body);
        if (!pad.valid()) continue;
        if (Take(id, pad)) {
          counts_.Took(FusionPattern::kWindowPad);
        } else {
          counts_.Declined(FusionPattern::kWindowPad);
        }
      }
    }
    return counts_;
  }

 private:
  bool Take(NodeId id, NodeId pad) {
    const std::optional<Padding> padding = Read(graph_[pad]);
    const std::optional<std::vector<int64_t>> extents = ExtentsOf(graph_[id]);
    if (!padding || !extents || padding->before.size() != extents->size() + 2) return false;
    const Node& node = graph_[id];
    const std::string automatic = node.attributes.String("auto_pad", "NOTSET");
    if (automatic != "NOTSET" && automatic != "VALID") return false;
    for (const size_t outer : {size_t{0}, size_t{1}}) {
      if (padding->before[outer] != 0 || padding->after[outer] != 0) return false;
    }
    const size_t rank = extents->size();
    const std::vector<int64_t>* const given = node.attributes.Ints("pads");
    const bool own = given != nullptr && automatic == "NOTSET";
    if (own && given->size() != 2 * rank) return false;
    std::vector<int64_t> pads = own ? *given : std::vector<int64_t>(2 * rank);
    const bool padded = std::ranges::any_of(pads, [](int64_t size) { return size != 0; });
    for (size_t axis = 0; axis < rank; ++axis) {
      pads[axis] += padding->before[axis + 2];
      pads[axis + rank] += padding->after[axis + 2];
      const int64_t largest = std::max(pads[axis], pads[axis + rank]);
      if (std::min(pads[axis], pads[axis + rank]) < 0 || largest >= (*extents)[axis]) return false;
    }
    if (!KeepsNumbers(node, *padding, padded, graph_[pad].inputs[0])) return false;
    Node& window = graph_[id];
    window.attributes.Set("pads", pads);
    window.attributes.Set("auto_pad", std::string("NOTSET"));
    if (Is(window, "AveragePool")) window.attributes.Set("count_include_pad", int64_t{1});
    const ValueId source = graph_[pad].inputs[0];
    rewriter_.SetInput(id, 0, source);
    rewriter_.DropUnused(pad);
    return true;
  }

  bool KeepsNumbers(const Node& node, const Padding& padding, bool padded, ValueId source) const {
    if (Is(node, "Conv")) return padding.value == 0;
    // Rounded up, the last window may begin in the padding, and is left out there.
    if (node.attributes.Int("ceil_mode", 0) != 0 || node.outputs.size() > 1) return false;
    if (Is(node, "AveragePool")) {
      const bool counted = node.attributes.Int("count_include_pad", 0) != 0;
      return padding.value == 0 && (counted || !padded);
    }
    const bool lowest = padding.value <= std::numeric_limits<float>::lowest();
    return IsFloat32(graph_, source) && (lowest || (padding.value <= 0 && NeverNegative(source)));
  }

  bool NeverNegative(ValueId value) const {
    const NodeId maker = graph_[value].producer;
    return maker.valid() && (Is(graph_[maker], "Relu") || Is(graph_[maker], "Sigmoid"));
  }

  // How far a window reaches along each axis.
  std::optional<std::vector<int64_t>> ExtentsOf(const Node& node) const {
    std::vector<int64_t> extents;
    if (Is(node, "Conv")) {
      const Shape* const weights = ShapeOf(graph_, node.inputs[1]);
      if (weights == nullptr || weights->size() < 3) return std::nullopt;
      for (size_t i = 2; i < weights->size(); ++i) {
        if (!(*weights)[i].is_number()) return std::nullopt;
        extents.push_back((*weights)[i].number());
      }
    } else if (const std::vector<int64_t>* kernel = node.attributes.Ints("kernel_shape")) {
      extents = *kernel;
    }
    const std::vector<int64_t>* const dilations = node.attributes.Ints("dilations");
    for (size_t i = 0; dilations != nullptr && i < extents.size(); ++i) {
      if (dilations->size() != extents.size()) return std::nullopt;
      extents[i] = (extents[i] - 1) * (*dilations)[i] + 1;
    }
    return extents;
  }

  std::optional<Padding> Read(const Node& node) const {
    const Shape* const shape = ShapeOf(graph_, node.inputs[0]);
    if (shape == nullptr || node.attributes.String("mode", "constant") != "constant") {
      return std::nullopt;
    }
    const auto rank = static_cast<int64_t>(shape->size());
    Padding padding{.before = std::vector<int64_t>(shape->size()),
                    .after = std::vector<int64_t>(shape->size()),
                    .value = node.attributes.Float("value", 0)};
    const auto has = [&](size_t input) {
      return node.inputs.size() > input && node.inputs[input].valid();
    };
    std::vector<int64_t> sizes;
    if (const std::vector<int64_t>* given = node.attributes.Ints("pads")) sizes = *given;
    if (has(1)) sizes = IntegersOf(graph_, node.inputs[1]);
    if (has(2)) {
      const std::optional<double> value = ScalarOf(graph_, node.inputs[2]);
      if (!value) return std::nullopt;
      padding.value = *value;
    }
    std::vector<int64_t> axes;
    for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    if (has(3)) axes = IntegersOf(graph_, node.inputs[3]);
    if (sizes.empty() || sizes.size() != 2 * axes.size()) return std::nullopt;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = graph::NormalizeAxis(axes[i], rank);
      if (!axis) return std::nullopt;
      padding.before[static_cast<size_t>(*axis)] = sizes[i];
      padding.after[static_cast<size_t>(*axis)] = sizes[i + axes.size()];
    }
    return padding;
  }

  Graph& graph_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts FusePads(Graph& graph, const FusionSwitches& /*switches*/) {
  return PadFusing(graph).Run();
}

}  // namespace plimsoll::compile
