#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::compile {

// Whether the node is this operator of domain "plimsoll".
bool IsOurs(const graph::Node& node, std::string_view op);

// How a node can work on one slice of its output at a time, slices taken along the output's first
// axis that is not 1, so that each is a run of its bytes.
enum class SliceOperand {
  kWhole,     // read as it is by every slice
  kSlice,     // the same slice of it
  kConstant,  // a constant of which each slice needs its own rows
};

struct SliceRule {
  int64_t axis = 0;                    // of the output, and of operands that are sliced
  int64_t length = 0;                  // of the output along the axis
  int64_t rows_a_step = 1;             // of the output, all axes but the last being rows
  std::vector<SliceOperand> operands;  // by input; those left out are kWhole
  // Elements of a constant's first dimension, and of attribute `channels`, that one step along the
  // axis stands for; 0: the axis does not count channels.
  int64_t channels_a_step = 0;
  int64_t channels = 0;  // all of them
};

// Nothing where the node needs all of its operands at once, or where its slices are no runs of
// bytes. Shapes are static.
std::optional<SliceRule> SliceRuleOf(const graph::Graph& graph, graph::NodeId node);

}  // namespace plimsoll::compile
