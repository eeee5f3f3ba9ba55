#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// What the caller said of the model's input shapes: `--shape x=1x3x224x224` or `--shape batch=4`.
struct ShapeArgument {
  std::string name;           // of an input, or of a symbol in the inputs' shapes
  std::vector<int64_t> dims;  // one number for a symbol
};

// Reads `name=1x3x224x224`, `name=` (a scalar) or `symbol=4`.
Result<ShapeArgument> ParseShapeArgument(std::string_view text);

// The numbers that symbols stand for.
using Bindings = std::map<std::string, int64_t>;

// Gives the root's inputs their types: what the file declares, with the caller's numbers in place
// of symbols wherever the same symbol occurs. Refuses unknown names (with the nearest), wrong
// ranks, and numbers that contradict the file or each other; then nothing is changed.
Result<Bindings> GiveInputShapes(graph::Graph& graph, const std::vector<ShapeArgument>& arguments);

}  // namespace plimsoll::compile
