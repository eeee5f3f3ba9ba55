#include "compile/passes/forms/drop_dead_taps.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "compile/passes/fuse/patterns.h"
#include "compile/passes/rewriter.h"
#include "compile/shapes/assumed_constants.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::ConstantTensor;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::SubgraphId;
using graph::ValueId;

// One spatial axis of a convolution.
struct TapAxis {
  int64_t input = 0;
  int64_t output = 0;
  int64_t taps = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // pads
  int64_t after = 0;
  int64_t first = 0;  // taps [first, end) stay
  int64_t end = 0;

  // A tap goes where every place of it lies in front of the input, or every one behind it.
  void Trim() {
    const int64_t last = (output - 1) * stride;
    first = 0;
    end = taps;
    while (end - first > 1 && last < before && before >= dilation) {
      ++first;
      before -= dilation;
    }
    while (end - first > 1 && (end - 1 - first) * dilation - before >= input && after >= dilation) {
      --end;
      after -= dilation;
    }
  }
};

// The taps that stay. Nothing where there is no memory for them.
std::optional<ConstantTensor> Trimmed(const ConstantTensor& weights,
                                      const std::vector<TapAxis>& axes) {
  ConstantTensor trimmed = weights;
  for (size_t i = 0; i < axes.size(); ++i) trimmed.dims[i + 2] = axes[i].end - axes[i].first;
  if (IsAssumed(weights)) {
    auto assumed = AssumedConstant(weights.type, trimmed.dims);
    return assumed.ok() ? std::optional(*std::move(assumed)) : std::nullopt;
  }
  auto storage = std::make_shared<std::vector<float>>(static_cast<size_t>(trimmed.ElementCount()));
  const int64_t row = trimmed.dims.back();
  const int64_t rows = row == 0 ? 0 : trimmed.ElementCount() / row;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t rest = i;
    int64_t from = axes.back().first;
    int64_t stride = axes.back().taps;
    for (size_t axis = axes.size() - 1; axis-- > 0;) {
      from += (rest % trimmed.dims[axis + 2] + axes[axis].first) * stride;
      rest /= trimmed.dims[axis + 2];
      stride *= axes[axis].taps;
    }
    from += rest * stride;
    std::memcpy(storage->data() + i * row,
                weights.bytes.data() + from * static_cast<int64_t>(sizeof(float)),
                static_cast<size_t>(row) * sizeof(float));
  }
  trimmed.bytes = std::as_bytes(std::span(*storage));
  trimmed.storage = storage;
  return trimmed;
}

class TapDropping {
 public:
  explicit TapDropping(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (!Is(graph_[id], "Conv") || !MayRewrite(graph_[id])) continue;
        std::optional<std::vector<TapAxis>> axes = AxesOf(graph_[id]);
        if (!axes) continue;
        bool drops = false;
        for (TapAxis& axis : *axes) {
          axis.Trim();
          drops = drops || axis.end - axis.first < axis.taps;
        }
        if (!drops) continue;
        if (Drop(id, *axes)) {
          counts_.Took(FusionPattern::kDeadTap);
        } else {
          counts_.Declined(FusionPattern::kDeadTap);
        }
      }
    }
    return counts_;
  }

 private:
  // Nothing where sizes are not known, or are none of a convolution.
  std::optional<std::vector<TapAxis>> AxesOf(const Node& node) const {
    const Shape* const from = ShapeOf(graph_, node.inputs[0]);
    const Shape* const weights = ShapeOf(graph_, node.inputs[1]);
    const Shape* const to = ShapeOf(graph_, node.outputs[0]);
    if (from == nullptr || weights == nullptr || to == nullptr) return std::nullopt;
    if (from->size() < 3 || weights->size() != from->size() || to->size() != from->size()) {
      return std::nullopt;
    }
    const size_t rank = from->size() - 2;
    const std::vector<int64_t> strides = SizesOf(node, "strides", rank, 1);
    const std::vector<int64_t> dilations = SizesOf(node, "dilations", rank, 1);
    const std::vector<int64_t> pads = SizesOf(node, "pads", 2 * rank, 0);
    const std::string automatic = node.attributes.String("auto_pad", "NOTSET");
    if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank) {
      return std::nullopt;
    }
    std::vector<TapAxis> axes;
    for (size_t i = 0; i < rank; ++i) {
      for (const Shape* const shape : {from, weights, to}) {
        if (!(*shape)[i + 2].is_number()) return std::nullopt;
      }
      TapAxis axis{.input = (*from)[i + 2].number(),
                   .output = (*to)[i + 2].number(),
                   .taps = (*weights)[i + 2].number(),
                   .stride = strides[i],
                   .dilation = dilations[i],
                   .before = pads[i],
                   .after = pads[i + rank]};
      if (automatic.starts_with("SAME")) {
        const int64_t all = std::max<int64_t>(
            (axis.output - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1 - axis.input, 0);
        axis.before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
        axis.after = all - axis.before;
      } else if (automatic != "NOTSET") {
        return std::nullopt;
      }
      axes.push_back(axis);
    }
    return axes;
  }

  bool Drop(NodeId id, const std::vector<TapAxis>& axes) {
    const ValueId value = graph_[id].inputs[1];
    if (!IsFloat32(graph_, value) || !graph_[value].constant.valid()) return false;
    const ConstantTensor& weights = graph_[graph_[value].constant];
    if (weights.missing && !IsAssumed(weights)) return false;
    std::optional<ConstantTensor> trimmed = Trimmed(weights, axes);
    if (!trimmed) return false;
    std::vector<int64_t> kernel;
    std::vector<int64_t> dilations;
    std::vector<int64_t> before;
    std::vector<int64_t> pads;
    for (const TapAxis& axis : axes) {
      kernel.push_back(axis.end - axis.first);
      dilations.push_back(kernel.back() == 1 ? 1 : axis.dilation);
      before.push_back(axis.before);
      pads.push_back(axis.after);
    }
    pads.insert(pads.begin(), before.begin(), before.end());
    const std::string name = StrCat(graph_[value].name, "/taps");
    graph::Attributes& attributes = graph_[id].attributes;
    attributes.Set("kernel_shape", kernel);
    attributes.Set("dilations", dilations);
    attributes.Set("pads", pads);
    attributes.Set("auto_pad", std::string("NOTSET"));
    rewriter_.SetInput(id, 1, rewriter_.AddConstant(id, name, *std::move(trimmed)));
    return true;
  }

  Graph& graph_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts DropDeadTaps(Graph& graph, const FusionSwitches& /*switches*/) {
  return TapDropping(graph).Run();
}

}  // namespace plimsoll::compile
