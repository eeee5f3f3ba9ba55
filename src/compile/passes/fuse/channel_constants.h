#pragma once

#include <optional>
#include <vector>

#include "compile/passes/rewriter.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// The elements of a constant, or what was worked out of them. Where its data is missing and assumed
// (assumed_constants.h) there are as many numbers, which mean nothing.
struct Numbers {
  std::vector<double> elements;
  bool assumed = false;
};

// Of a constant of at most `most` elements; none otherwise.
Numbers NumbersOf(const graph::Graph& graph, graph::ValueId value, int64_t most);

// y = scale * x + shift for each channel.
struct ChannelLine {
  std::vector<double> scale;
  std::vector<double> shift;
  bool assumed = false;  // worked out of assumed constants
};

// What `node` does to its input `value` [N, channels, ...], where that is a line with constant
// coefficients a channel: BatchNormalization in inference; Add, Sub, Mul, Div with a constant.
// Nothing where it is not, or where the constants are not there.
std::optional<ChannelLine> ChannelLineOf(const graph::Graph& graph, const graph::Node& node,
                                         graph::ValueId value, int64_t channels);

// The line of a BatchNormalization in inference as ONNX Runtime works it out, each step rounded to
// float32.
std::optional<ChannelLine> Float32LineOf(const graph::Graph& graph, const graph::Node& node,
                                         int64_t channels);

// A float32 vector as a constant; nothing where there is no memory for it.
std::optional<graph::ConstantTensor> Float32Vector(const Numbers& numbers);

// The weights with each slice along the first or the last dimension times its factor; nothing where
// the weights are not float32 or their data is not there.
std::optional<graph::ConstantTensor> ScaledSlices(const graph::ConstantTensor& weights,
                                                  const Numbers& factors);
std::optional<graph::ConstantTensor> ScaledColumns(const graph::ConstantTensor& weights,
                                                   const Numbers& factors);

}  // namespace plimsoll::compile
