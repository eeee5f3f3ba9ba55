#include "compile/passes/slices/slice_rules.h"

#include <algorithm>
#include <string_view>

#include "compile/passes/fuse/patterns.h"
#include "graph/infer_context.h"
#include "graph/operator_row.h"

namespace plimsoll::compile {
namespace {

using graph::Dim;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Shape;
using graph::ValueId;

bool IsConstant(const Graph& graph, ValueId value) {
  return value.valid() && graph[value].constant.valid();
}

// The first axis that is not 1; nothing where that is the last, or where there is none.
std::optional<int64_t> OuterAxis(const Shape& shape) {
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    if (shape[i] != Dim(1)) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

class Rules {
 public:
  Rules(const Graph& graph, const Node& node, const Shape& output)
      : graph_(graph), node_(node), output_(output) {}

  std::optional<SliceRule> Find() {
    const auto axis = OuterAxis(output_);
    if (!axis) return std::nullopt;
    rule_.axis = *axis;
    rule_.length = output_[static_cast<size_t>(*axis)].number();
    for (size_t i = static_cast<size_t>(*axis) + 1; i + 1 < output_.size(); ++i) {
      rule_.rows_a_step = SaturatingMultiply(rule_.rows_a_step, output_[i].number());
    }
    rule_.operands.assign(node_.inputs.size(), SliceOperand::kWhole);
    return Fits() ? std::optional(std::move(rule_)) : std::nullopt;
  }

 private:
  bool Fits() {
    if (IsOurs(node_, "FusedConv") || Is(node_, "Conv")) return Convolution();
    if (IsOurs(node_, "FusedPool")) return Pool(true);
    if (Is(node_, "MaxPool") || Is(node_, "AveragePool") || Is(node_, "GlobalAveragePool")) {
      return node_.outputs.size() == 1 && Pool(false);
    }
    if (IsOurs(node_, "FusedMatMul") || Is(node_, "MatMul")) return Product();
    if (graph::FactsOf(node_).elementwise) return Elementwise();
    if (Is(node_, "LayerNormalization")) return node_.outputs.size() == 1 && LastAxes();
    return false;
  }

  // Whether the operand has the output's leading dimensions up to the axis and is sliced with it.
  bool SlicedAsOutput(size_t input) {
    const Shape* shape = ShapeOf(graph_, node_.inputs[input]);
    const auto axes = static_cast<size_t>(rule_.axis) + 1;
    if (shape == nullptr || shape->size() < axes || !IsStatic(*shape)) return false;
    if (IsConstant(graph_, node_.inputs[input])) return false;
    if (!std::equal(shape->begin(), shape->begin() + static_cast<int64_t>(axes), output_.begin())) {
      return false;
    }
    rule_.operands[input] = SliceOperand::kSlice;
    return true;
  }

  bool CountChannels(bool blocked, int64_t channels) {
    if (rule_.axis != 1) return false;
    rule_.channels = channels;
    rule_.channels_a_step = blocked ? output_.back().number() : 1;
    return true;
  }

  bool Convolution() {
    if (node_.inputs.size() > 3 && node_.inputs[3].valid()) return false;
    const Shape* weights = ShapeOf(graph_, node_.inputs[1]);
    const auto filters = DimOf(graph_, node_.inputs[1], 0);
    if (weights == nullptr || !filters || !IsConstant(graph_, node_.inputs[1])) return false;
    rule_.operands[1] = SliceOperand::kConstant;
    if (node_.inputs.size() > 2 && node_.inputs[2].valid()) {
      if (!IsConstant(graph_, node_.inputs[2])) return false;
      rule_.operands[2] = SliceOperand::kConstant;
    }
    if (!CountChannels(node_.attributes.Int("output_blocked", 0) != 0, *filters)) return false;
    const int64_t groups = node_.attributes.Int("group", 1);
    if (groups == 1) return true;
    const bool in_blocks = node_.attributes.Int("input_blocked", 0) != 0;
    const bool out_blocks = node_.attributes.Int("output_blocked", 0) != 0;
    return groups == *filters && (*weights)[1] == Dim(1) && in_blocks == out_blocks &&
           SlicedAsOutput(0);
  }

  bool Pool(bool blocked) {
    const int64_t channels = blocked ? node_.attributes.Int("channels", 0) : output_[1].number();
    return SlicedAsOutput(0) && CountChannels(blocked, channels);
  }

  // Rows of the left factor, where the right one is one matrix for all.
  bool Product() {
    const Shape* right = ShapeOf(graph_, node_.inputs[1]);
    if (right == nullptr || right->size() != 2 || node_.attributes.Int("transA", 0) != 0) {
      return false;
    }
    // One row by itself adds up in another order.
    constexpr int64_t kAsItIs = 2;
    if (node_.attributes.Int("sum_steps", 0) == kAsItIs || !SlicedAsOutput(0)) return false;
    return node_.inputs.size() < 4 || !node_.inputs[3].valid() || SlicedAsOutput(3);
  }

  bool Elementwise() {
    bool any = false;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const Shape* shape = ShapeOf(graph_, node_.inputs[i]);
      if (shape == nullptr || !IsStatic(*shape)) return false;
      const size_t inner = output_.size() - 1 - static_cast<size_t>(rule_.axis);
      const bool the_same_for_all =
          shape->size() <= inner ||
          std::all_of(shape->begin(), shape->end() - static_cast<int64_t>(inner),
                      [](const Dim& dim) { return dim == Dim(1); });
      if (the_same_for_all) continue;
      if (shape->size() != output_.size() || !SlicedAsOutput(i)) return false;
      any = true;
    }
    return any;
  }

  bool LastAxes() {
    const auto axis = graph::NormalizeAxis(node_.attributes.Int("axis", -1),
                                           static_cast<int64_t>(output_.size()));
    return axis && *axis > rule_.axis && SlicedAsOutput(0);
  }

  const Graph& graph_;
  const Node& node_;
  const Shape& output_;
  SliceRule rule_;
};

}  // namespace

bool IsOurs(const Node& node, std::string_view op) {
  return node.domain == "plimsoll" && node.op == op;
}

std::optional<SliceRule> SliceRuleOf(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.inputs.empty() || node.outputs.size() != 1 || !node.outputs[0].valid()) {
    return std::nullopt;
  }
  const Shape* output = ShapeOf(graph, node.outputs[0]);
  if (output == nullptr || !IsStatic(*output)) return std::nullopt;
  return Rules(graph, node, *output).Find();
}

}  // namespace plimsoll::compile
