#include "compile/passes/fuse/channel_constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "compile/passes/fuse/patterns.h"
#include "compile/shapes/assumed_constants.h"

namespace plimsoll::compile {
namespace {

using graph::ConstantTensor;
using graph::DataType;
using graph::Graph;
using graph::Node;
using graph::ValueId;

using Elements = std::vector<double>;

// A constant that has one element per channel of [N, channels, spatial...], or one for all, as one
// element per channel; empty otherwise.
Numbers PerChannel(const Graph& graph, ValueId value, int64_t channels, size_t rank) {
  Numbers numbers = NumbersOf(graph, value, channels);
  Elements& elements = numbers.elements;
  const graph::Shape* shape = ShapeOf(graph, value);
  if (elements.empty() || shape == nullptr || shape->size() > rank) return {};
  if (elements.size() == 1) {
    elements.resize(static_cast<size_t>(channels), elements[0]);
    return numbers;
  }
  for (size_t i = 0; i < shape->size(); ++i) {
    const bool is_channel = i + rank - shape->size() == 1;
    if ((*shape)[i] != graph::Dim(is_channel ? channels : 1)) return {};
  }
  return numbers;
}

// Calls line(scale, bias, mean, variance, epsilon) for each channel of a BatchNormalization in
// inference, which gives the scale and the shift of its line.
template <typename Line>
std::optional<ChannelLine> BatchNormalizationLine(const Graph& graph, const Node& node,
                                                  int64_t channels, const Line& line_of) {
  if (node.attributes.Int("training_mode", 0) != 0 || node.inputs.size() != 5) return std::nullopt;
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) return std::nullopt;
  }
  Elements parameters[4];
  ChannelLine line;
  for (size_t i = 0; i < 4; ++i) {
    Numbers numbers = NumbersOf(graph, node.inputs[i + 1], channels);
    if (static_cast<int64_t>(numbers.elements.size()) != channels) return std::nullopt;
    line.assumed |= numbers.assumed;
    parameters[i] = std::move(numbers.elements);
  }
  const auto& [scale, bias, mean, variance] = parameters;
  const double epsilon = node.attributes.Float("epsilon", 1e-5);
  for (size_t c = 0; c < scale.size(); ++c) {
    const auto [factor, shift] = line_of(scale[c], bias[c], mean[c], variance[c], epsilon);
    line.scale.push_back(factor);
    line.shift.push_back(shift);
  }
  return line;
}

std::pair<double, double> ExactLine(double scale, double bias, double mean, double variance,
                                    double epsilon) {
  const double factor = scale / std::sqrt(variance + epsilon);
  return {factor, bias - mean * factor};
}

// Doubles hold what two floats give, so that each is rounded once.
std::pair<double, double> Float32Line(double scale, double bias, double mean, double variance,
                                      double epsilon) {
  const auto rounded = [](double number) -> double { return static_cast<float>(number); };
  const double deviation = rounded(std::sqrt(rounded(variance + rounded(epsilon))));
  const double factor = rounded(rounded(1 / deviation) * scale);
  return {factor, rounded(bias - rounded(mean * factor))};
}

std::optional<ConstantTensor> Assumed(DataType type, const std::vector<int64_t>& dims) {
  auto constant = AssumedConstant(type, dims);
  return constant.ok() ? std::optional(*std::move(constant)) : std::nullopt;
}

// Elements of one slice along the first dimension.
size_t SliceSize(const ConstantTensor& weights) {
  const int64_t slices = weights.dims.empty() ? 0 : weights.dims.front();
  return slices == 0 ? 1 : static_cast<size_t>(weights.ElementCount() / slices);
}

// Element i times the factor of its slice, of which there are `slices`.
template <typename SliceOf>
std::optional<ConstantTensor> Scaled(const ConstantTensor& weights, int64_t slices,
                                     const Numbers& factors, const SliceOf& slice_of) {
  if (weights.type != DataType::kFloat32 || (weights.missing && !IsAssumed(weights)) ||
      slices != static_cast<int64_t>(factors.elements.size())) {
    return std::nullopt;
  }
  if (weights.missing || factors.assumed) return Assumed(weights.type, weights.dims);
  auto storage = std::make_shared<std::vector<float>>(weights.bytes.size() / sizeof(float));
  if (!storage->empty()) {
    std::memcpy(storage->data(), weights.bytes.data(), storage->size() * sizeof(float));
  }
  for (size_t i = 0; i < storage->size(); ++i) {
    (*storage)[i] = static_cast<float>((*storage)[i] * factors.elements[slice_of(i)]);
  }
  ConstantTensor scaled = weights;
  scaled.bytes = std::as_bytes(std::span(*storage));
  scaled.storage = storage;
  return scaled;
}

}  // namespace

Numbers NumbersOf(const Graph& graph, ValueId value, int64_t most) {
  if (!value.valid() || !graph[value].constant.valid()) return {};
  const ConstantTensor& tensor = graph[graph[value].constant];
  if (!IsAssumed(tensor)) return {ElementsOf(graph, value, most), false};
  if (tensor.ElementCount() > most) return {};
  // Neither 0 nor 1, by which passes would leave something out.
  constexpr double kAnyNumber = 0.5;
  return {Elements(static_cast<size_t>(tensor.ElementCount()), kAnyNumber), true};
}

std::optional<ChannelLine> ChannelLineOf(const Graph& graph, const Node& node, ValueId value,
                                         int64_t channels) {
  if (Is(node, "BatchNormalization")) {
    return BatchNormalizationLine(graph, node, channels, ExactLine);
  }
  const bool first = node.inputs[0] == value;
  const bool known =
      Is(node, "Add") || Is(node, "Mul") || (first && (Is(node, "Sub") || Is(node, "Div")));
  if (!known || !SameType(graph, value, node.outputs[0])) return std::nullopt;
  const ValueId other = node.inputs[first ? 1 : 0];
  const graph::Shape* shape = ShapeOf(graph, value);
  Numbers numbers = PerChannel(graph, other, channels, shape->size());
  Elements& elements = numbers.elements;
  if (elements.empty()) return std::nullopt;
  const size_t count = elements.size();
  const auto line = [&](Elements scale, Elements shift) {
    return ChannelLine{std::move(scale), std::move(shift), numbers.assumed};
  };
  if (Is(node, "Add")) return line(Elements(count, 1), std::move(elements));
  if (Is(node, "Mul")) return line(std::move(elements), Elements(count, 0));
  if (Is(node, "Sub")) {
    for (double& element : elements) element = -element;
    return line(Elements(count, 1), std::move(elements));
  }
  for (double& element : elements) element = 1 / element;
  return line(std::move(elements), Elements(count, 0));
}

std::optional<ChannelLine> Float32LineOf(const Graph& graph, const Node& node, int64_t channels) {
  if (!Is(node, "BatchNormalization")) return std::nullopt;
  return BatchNormalizationLine(graph, node, channels, Float32Line);
}

std::optional<ConstantTensor> Float32Vector(const Numbers& numbers) {
  const auto count = static_cast<int64_t>(numbers.elements.size());
  if (numbers.assumed) return Assumed(DataType::kFloat32, {count});
  auto storage =
      std::make_shared<std::vector<float>>(numbers.elements.begin(), numbers.elements.end());
  ConstantTensor tensor;
  tensor.type = DataType::kFloat32;
  tensor.dims = {count};
  tensor.bytes = std::as_bytes(std::span(*storage));
  tensor.storage = storage;
  return tensor;
}

std::optional<ConstantTensor> ScaledSlices(const ConstantTensor& weights, const Numbers& factors) {
  const size_t slice = SliceSize(weights);
  return Scaled(weights, weights.dims.empty() ? 0 : weights.dims.front(), factors,
                [slice](size_t i) { return i / slice; });
}

std::optional<ConstantTensor> ScaledColumns(const ConstantTensor& weights, const Numbers& factors) {
  const size_t columns = factors.elements.size();
  return Scaled(weights, weights.dims.empty() ? 0 : weights.dims.back(), factors,
                [columns](size_t i) { return i % columns; });
}

}  // namespace plimsoll::compile
