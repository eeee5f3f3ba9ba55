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
  std::string name;           // of an input, of a symbol in the inputs' shapes, or "x[0]"
  std::vector<int64_t> dims;  // one number for a symbol
};

// Reads `name=1x3x224x224`, `name=` (a scalar), `symbol=4` or `name[0]=4`.
Result<ShapeArgument> ParseShapeArgument(std::string_view text);

// The symbols of the root's inputs, and "x[0]" for dimensions that the file gives no name.
std::vector<std::string> ShapeNames(const graph::Graph& graph);

// A shape that such a tensor may have, "1x3x224x224": what the type says, 1 for an open first
// dimension and 8 for others.
std::string ExampleShape(const graph::ValueType& type);

// The numbers that symbols stand for.
using Bindings = std::map<std::string, int64_t>;

// Gives the root's inputs their types: what the file declares, with the caller's numbers in place
// of symbols wherever the same symbol occurs. Refuses unknown names (with the nearest), wrong
// ranks, and numbers that contradict the file or each other; then nothing is changed.
Result<Bindings> GiveInputShapes(graph::Graph& graph, const std::vector<ShapeArgument>& arguments);

}  // namespace plimsoll::compile
