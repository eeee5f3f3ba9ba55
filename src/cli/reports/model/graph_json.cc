#include "cli/reports/model/graph_json.h"

#include "graph/text_form.h"

namespace plimsoll::cli {
Json TypedNames(const graph::Graph& graph, const std::vector<graph::ValueId>& values) {
  Json list = Json::array();
  for (const graph::ValueId id : values) {
    if (!id.valid()) {
      list.push_back(nullptr);
      continue;
    }
    list.push_back({{"name", graph[id].name}, {"type", Text(graph[id].type)}});
  }
  return list;
}

Json GraphJson(const graph::Graph& graph, const std::string& file) {
  Json model = {{"file", file},
                {"inputs", TypedNames(graph, graph.root().inputs)},
                {"outputs", TypedNames(graph, graph.root().outputs)},
                {"nodes", graph.nodes.size()},
                {"node_list", Json::array()}};
  for (const graph::Node& node : graph.nodes) {
    Json attributes = Json::object();
    for (const auto& [name, value] : node.attributes) attributes[name] = Text(value);
    model["node_list"].push_back({{"name", node.name},
                                  {"operator", OperatorName(node)},
                                  {"inputs", TypedNames(graph, node.inputs)},
                                  {"outputs", TypedNames(graph, node.outputs)},
                                  {"attributes", std::move(attributes)},
                                  {"memory_attributes", Text(node.memory)},
                                  {"body", node.home.valid() ? node.home.index() : 0}});
  }
  return {{"models", Json::array({std::move(model)})}};
}

}  // namespace plimsoll::cli
