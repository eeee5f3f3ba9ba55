#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace plimsoll::graph {

// The sizes of a graph that are not numbers, in words that people can use.
struct OpenDimensions {
  std::vector<std::string> names;      // symbols that the file names
  std::vector<std::string> of_inputs;  // "x[0]": dimensions of inputs that it gives no name
  int from_data = 0;                   // sizes that only data tells
};

OpenDimensions FindOpenDimensions(const Graph& graph);

// "x[0]" for the symbol of an input's dimension without a name; other names stay.
std::string ShownName(const std::string& symbol);

}  // namespace plimsoll::graph
