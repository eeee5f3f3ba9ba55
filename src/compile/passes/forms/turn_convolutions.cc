#include "compile/passes/forms/turn_convolutions.h"

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

// Places of the output to one of the input, at most.
constexpr double kMostPlaces = 2;

// Weights [channels, filters / groups, kernel...] of a ConvTranspose as those of a Conv
// [filters, channels / groups, kernel...], the kernel from its end to its beginning. Nothing where
// there is no memory for it.
std::optional<ConstantTensor> Turned(const ConstantTensor& weights, int64_t groups) {
  const int64_t filters = weights.dims[1];  // of a group
  const int64_t channels = weights.dims[0] / groups;
  ConstantTensor turned = weights;
  turned.dims[0] = filters * groups;
  turned.dims[1] = channels;
  if (IsAssumed(weights)) {
    auto assumed = AssumedConstant(weights.type, turned.dims);
    return assumed.ok() ? std::optional(*std::move(assumed)) : std::nullopt;
  }
  std::vector<float> elements(weights.bytes.size() / sizeof(float));
  if (!elements.empty()) std::memcpy(elements.data(), weights.bytes.data(), weights.bytes.size());
  auto storage = std::make_shared<std::vector<float>>(elements.size());
  const int64_t taps =
      filters * weights.dims[0] == 0 ? 0 : weights.ElementCount() / (filters * weights.dims[0]);
  for (int64_t channel = 0; channel < weights.dims[0]; ++channel) {
    for (int64_t filter = 0; filter < filters; ++filter) {
      const auto from = elements.begin() + (channel * filters + filter) * taps;
      const int64_t made = channel / channels * filters + filter;
      std::reverse_copy(from, from + taps,
                        storage->begin() + (made * channels + channel % channels) * taps);
    }
  }
  turned.bytes = std::as_bytes(std::span(*storage));
  turned.storage = storage;
  return turned;
}

class ConvolutionTurning {
 public:
  explicit ConvolutionTurning(Graph& graph) : graph_(graph), rewriter_(graph) {}

  FusionCounts Run() {
    for (const SubgraphId body : SteadyBodies(graph_)) {
      for (const NodeId id : rewriter_.NodesOf(body)) {
        if (!Is(graph_[id], "ConvTranspose") || !MayRewrite(graph_[id])) continue;
        if (!HasFewPlaces(graph_[id])) {
          counts_.Declined(FusionPattern::kConvTurn);
        } else if (Turn(id)) {
          counts_.Took(FusionPattern::kConvTurn);
        }
      }
    }
    return counts_;
  }

 private:
  bool Turn(NodeId id) {
    const Node& node = graph_[id];
    const ValueId value = node.inputs[1];
    if (!IsFloat32(graph_, value) || !graph_[value].constant.valid()) return false;
    const ConstantTensor& weights = graph_[graph_[value].constant];
    const int64_t groups = node.attributes.Int("group", 1);
    const std::optional<std::vector<int64_t>> pads = PadsOfConv(node, weights);
    if (!pads || groups < 1 || weights.dims[0] % groups != 0) return false;
    if (weights.missing && !IsAssumed(weights)) return false;
    std::optional<ConstantTensor> turned = Turned(weights, groups);
    if (!turned) return false;
    const std::string name = StrCat(graph_[value].name, "/turned");
    graph::Attributes attributes;
    attributes.Set("group", groups);
    attributes.Set("pads", *pads);
    attributes.Set("dilations", SizesOf(node, "dilations", pads->size() / 2, 1));
    graph_[id].op = "Conv";
    graph_[id].attributes = std::move(attributes);
    rewriter_.SetInput(id, 1, rewriter_.AddConstant(id, name, *std::move(turned)));
    return true;
  }

  // Nothing where no Conv does the same.
  static std::optional<std::vector<int64_t>> PadsOfConv(const Node& node,
                                                        const ConstantTensor& weights) {
    if (weights.dims.size() < 3) return std::nullopt;
    const size_t rank = weights.dims.size() - 2;
    const std::vector<int64_t> strides = SizesOf(node, "strides", rank, 1);
    const std::vector<int64_t> more = SizesOf(node, "output_padding", rank, 0);
    const std::vector<int64_t> dilations = SizesOf(node, "dilations", rank, 1);
    std::vector<int64_t> pads = SizesOf(node, "pads", 2 * rank, 0);
    const std::vector<int64_t>* const wanted = node.attributes.Ints("output_shape");
    const bool plain = node.attributes.String("auto_pad", "NOTSET") == "NOTSET" &&
                       (wanted == nullptr || wanted->empty()) && dilations.size() == rank &&
                       pads.size() == 2 * rank &&
                       std::ranges::all_of(strides, [](int64_t stride) { return stride == 1; }) &&
                       std::ranges::all_of(more, [](int64_t size) { return size == 0; });
    if (!plain) return std::nullopt;
    for (size_t i = 0; i < pads.size(); ++i) {
      pads[i] = dilations[i % rank] * (weights.dims[2 + i % rank] - 1) - pads[i];
      if (pads[i] < 0) return std::nullopt;
    }
    return pads;
  }

  bool HasFewPlaces(const Node& node) const {
    const Shape* const from = ShapeOf(graph_, node.inputs[0]);
    const Shape* const to = ShapeOf(graph_, node.outputs[0]);
    if (from == nullptr || to == nullptr || from->size() != to->size()) return false;
    double places = 1;
    for (size_t axis = 2; axis < from->size(); ++axis) {
      if (!(*from)[axis].is_number() || !(*to)[axis].is_number()) return false;
      places *= static_cast<double>((*to)[axis].number()) /
                static_cast<double>(std::max<int64_t>((*from)[axis].number(), 1));
    }
    return places <= kMostPlaces;
  }

  Graph& graph_;
  Rewriter rewriter_;
  FusionCounts counts_;
};

}  // namespace

FusionCounts TurnConvolutions(Graph& graph, const FusionSwitches& /*switches*/) {
  return ConvolutionTurning(graph).Run();
}

}  // namespace plimsoll::compile
