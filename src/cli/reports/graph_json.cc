#include "cli/reports/graph_json.h"

#include <nlohmann/json.hpp>

#include "graph/text_form.h"

namespace plimsoll::cli {
namespace {

using GraphJsonValue = nlohmann::ordered_json;

GraphJsonValue TypedNames(const graph::Graph& graph, const std::vector<graph::ValueId>& values) {
  GraphJsonValue list = GraphJsonValue::array();
  for (const graph::ValueId id : values) {
    if (!id.valid()) {
      list.push_back(nullptr);
      continue;
    }
    list.push_back({{"name", graph[id].name}, {"type", Text(graph[id].type)}});
  }
  return list;
}

}  // namespace

std::string GraphJson(const graph::Graph& graph, const std::string& file) {
  GraphJsonValue json = {{"file", file},
                         {"inputs", TypedNames(graph, graph.root().inputs)},
                         {"outputs", TypedNames(graph, graph.root().outputs)},
                         {"nodes", GraphJsonValue::array()}};
  for (const graph::Node& node : graph.nodes) {
    GraphJsonValue attributes = GraphJsonValue::object();
    for (const auto& [name, value] : node.attributes) attributes[name] = Text(value);
    json["nodes"].push_back({{"name", node.name},
                             {"operator", OperatorName(node)},
                             {"inputs", TypedNames(graph, node.inputs)},
                             {"outputs", TypedNames(graph, node.outputs)},
                             {"attributes", std::move(attributes)},
                             {"memory_attributes", Text(node.memory)},
                             {"body", node.home.valid() ? node.home.index() : 0}});
  }
  return json.dump(2, ' ', false, GraphJsonValue::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::cli
