#pragma once

#include <optional>
#include <vector>

#include "compile/rewriter.h"
#include "graph/graph.h"

namespace plimsoll::compile {

// y = scale * x + shift for each channel.
struct ChannelLine {
  std::vector<double> scale;
  std::vector<double> shift;
};

// What `node` does to its input `value` [N, channels, ...], where that is a line with constant
// coefficients a channel: BatchNormalization in inference; Add, Sub, Mul, Div with a constant.
// Nothing where it is not, or where the constants are not there.
std::optional<ChannelLine> ChannelLineOf(const graph::Graph& graph, const graph::Node& node,
                                         graph::ValueId value, int64_t channels);

// A float32 vector as a constant.
graph::ConstantTensor Float32Vector(const std::vector<double>& elements);

// The weights with each slice along the first or the last dimension times its factor; nothing where
// the weights are not float32 or their data is not there.
std::optional<graph::ConstantTensor> ScaledSlices(const graph::ConstantTensor& weights,
                                                  const std::vector<double>& factors);
std::optional<graph::ConstantTensor> ScaledColumns(const graph::ConstantTensor& weights,
                                                   const std::vector<double>& factors);

}  // namespace plimsoll::compile
