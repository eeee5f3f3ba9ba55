#include "graph/dims/open_dimensions.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::graph {

OpenDimensions FindOpenDimensions(const Graph& graph) {
  std::vector<std::string> symbols;
  for (const Value& value : graph.values) {
    ValueType type = value.type;
    ForEachDim(type, [&](Dim& dim) { dim.CollectSymbols(symbols); });
  }
  std::vector<std::string> of_inputs;
  for (const ValueId input : graph.root().inputs) {
    ValueType type = graph[input].type;
    ForEachDim(type, [&](Dim& dim) { dim.CollectSymbols(of_inputs); });
  }
  OpenDimensions open;
  for (const std::string& symbol : symbols) {
    if (!symbol.starts_with('?')) {
      open.names.push_back(symbol);
    } else if (std::find(of_inputs.begin(), of_inputs.end(), symbol) != of_inputs.end()) {
      open.of_inputs.push_back(ShownName(symbol));
    } else {
      ++open.from_data;
    }
  }
  return open;
}

std::string ShownName(const std::string& symbol) {
  const size_t dot = symbol.rfind('.');
  if (!symbol.starts_with('?') || dot == std::string::npos) return symbol;
  return StrCat(symbol.substr(1, dot - 1), "[", symbol.substr(dot + 1), "]");
}

}  // namespace plimsoll::graph
