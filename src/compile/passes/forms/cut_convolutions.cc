#include "compile/passes/forms/cut_convolutions.h"

#include <algorithm>
#include <limits>
#include <numeric>
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

// Places that go at the beginning and at the end of each axis of a tensor.
struct Cut {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};

class ConvolutionCutting {
 public:
  explicit ConvolutionCutting(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (!Is(graph_[id], "Slice") || !MayRewrite(graph_[id])) continue;
        NodeId made = MadeBy(graph_, graph_[id].inputs[0], "Conv", body);
        if (!made.valid()) made = MadeBy(graph_, graph_[id].inputs[0], "ConvTranspose", body);
        if (!made.valid()) continue;
        if (Take(id, made)) {
          counts_.Took(FusionPattern::kConvCut);
        } else {
          counts_.Declined(FusionPattern::kConvCut);
        }
      }
    }
    return counts_;
  }

 private:
  bool Take(NodeId slice, NodeId made) {
    const ValueId whole = graph_[made].outputs[0];
    const ValueId part = graph_[slice].outputs[0];
    if (!rewriter_.HasOneReader(whole) || rewriter_.IsOverwritten(part)) return false;
    const std::optional<Cut> cut = CutOf(graph_[slice]);
    if (!cut) return false;
    const std::optional<std::vector<int64_t>> pads = PadsAfter(graph_[made], *cut);
    if (!pads || !rewriter_.StandIn(part, whole)) return false;
    graph_[whole].type = graph_[part].type;
    graph_[whole].declared = graph_[part].declared;
    graph_[made].attributes.Set("pads", *pads);
    rewriter_.Drop(slice);
    return true;
  }

  // Nothing where it takes steps, or where what it takes depends on a size that is not known.
  std::optional<Cut> CutOf(const Node& slice) const {
    const Shape* const shape = ShapeOf(graph_, slice.inputs[0]);
    if (shape == nullptr) return std::nullopt;
    const auto rank = static_cast<int64_t>(shape->size());
    const std::vector<int64_t> starts = Numbers(slice, 1, "starts");
    const std::vector<int64_t> ends = Numbers(slice, 2, "ends");
    const std::vector<int64_t> steps = Numbers(slice, 4, "steps");
    std::vector<int64_t> axes = Numbers(slice, 3, "axes");
    if (!Has(slice, 3, "axes")) {
      axes.resize(starts.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    const bool strides = std::ranges::any_of(steps, [](int64_t step) { return step != 1; });
    if (starts.empty() || ends.size() != starts.size() || axes.size() != starts.size() || strides ||
        (Has(slice, 4, "steps") && steps.size() != starts.size())) {
      return std::nullopt;
    }
    Cut cut{std::vector<int64_t>(shape->size()), std::vector<int64_t>(shape->size())};
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = graph::NormalizeAxis(axes[i], rank);
      if (!axis) return std::nullopt;
      const auto at = static_cast<size_t>(*axis);
      if (!CutAxis((*shape)[at], starts[i], ends[i], cut.before[at], cut.after[at])) {
        return std::nullopt;
      }
    }
    return cut;
  }

  // False where it takes nothing, or that cannot be told.
  static bool CutAxis(const graph::Dim& length, int64_t start, int64_t end, int64_t& before,
                      int64_t& after) {
    if (length.is_number()) {
      const int64_t size = length.number();
      const int64_t first = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
      const int64_t last = std::clamp<int64_t>(end < 0 ? end + size : end, 0, size);
      before = first;
      after = size - last;
      return first < last;
    }
    // Exporters mean the end of an axis by bounds this far out.
    constexpr int64_t kFarOut = std::numeric_limits<int32_t>::max();
    const bool to_the_end = end >= kFarOut;
    before = start;
    after = to_the_end ? 0 : -std::max(end, -kFarOut);
    return start >= 0 && start < kFarOut && after >= 0 && after < kFarOut;
  }

  bool Has(const Node& node, size_t input, std::string_view attribute) const {
    return node.attributes.Find(attribute) != nullptr ||
           (node.inputs.size() > input && node.inputs[input].valid());
  }

  // As older versions say it, or newer ones.
  std::vector<int64_t> Numbers(const Node& node, size_t input, std::string_view attribute) const {
    if (const std::vector<int64_t>* given = node.attributes.Ints(attribute)) return *given;
    return Has(node, input, attribute) ? IntegersOf(graph_, node.inputs[input])
                                       : std::vector<int64_t>();
  }

  // The pads with which the convolution makes what is left. Nothing where none do, or where the
  // Slice might leave nothing.
  std::optional<std::vector<int64_t>> PadsAfter(const Node& node, const Cut& cut) const {
    const Shape* const to = ShapeOf(graph_, node.outputs[0]);
    const Shape* const weights = ShapeOf(graph_, node.inputs[1]);
    if (weights == nullptr || weights->size() != to->size() || to->size() < 3) return std::nullopt;
    const size_t rank = to->size() - 2;
    const bool transposed = Is(node, "ConvTranspose");
    const std::vector<int64_t> strides = SizesOf(node, "strides", rank, 1);
    const std::vector<int64_t> dilations = SizesOf(node, "dilations", rank, 1);
    std::vector<int64_t> pads = SizesOf(node, "pads", 2 * rank, 0);
    const std::vector<int64_t>* const wanted = node.attributes.Ints("output_shape");
    if (node.attributes.String("auto_pad", "NOTSET") != "NOTSET" || pads.size() != 2 * rank ||
        strides.size() != rank || dilations.size() != rank ||
        (wanted != nullptr && !wanted->empty())) {
      return std::nullopt;
    }
    for (size_t axis = 0; axis < to->size(); ++axis) {
      if (cut.before[axis] == 0 && cut.after[axis] == 0) continue;
      if (axis < 2 || !(*weights)[axis].is_number()) return std::nullopt;
      const size_t i = axis - 2;
      const int64_t reach = dilations[i] * ((*weights)[axis].number() - 1);
      const int64_t stride = transposed ? -1 : strides[i];
      pads[i] -= cut.before[axis] * stride;
      pads[i + rank] -= cut.after[axis] * stride;
      if (std::min(pads[i], pads[i + rank]) < 0) return std::nullopt;
      if (transposed && std::max(pads[i], pads[i + rank]) > reach) return std::nullopt;
      const bool some_left =
          transposed ? pads[i] + pads[i + rank] <= reach : pads[i] + pads[i + rank] >= reach;
      if (!some_left && !(*to)[axis].is_number()) return std::nullopt;
    }
    return pads;
  }

  Graph& graph_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts CutConvolutions(Graph& graph, const FusionSwitches& /*switches*/) {
  return ConvolutionCutting(graph).Run();
}

}  // namespace plimsoll::compile
