#include "engine/profile/module_paths.h"

#include <utility>

namespace plimsoll::engine {
namespace {

std::string ModuleOfNode(const graph::Node& node) {
  const std::string_view name = node.name;
  const size_t slash = name.rfind('/');
  if (slash == name.npos || slash == 0) return {};
  return std::string(name.substr(name.front() == '/' ? 1 : 0, slash - (name.front() == '/')));
}

}  // namespace

std::string ModuleOfWeight(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? std::string() : std::string(name.substr(0, dot));
}

std::vector<std::string> ModulesOf(const graph::Graph& graph, const compile::Timeline& timeline) {
  std::vector<std::string> modules;
  modules.reserve(timeline.steps.size());
  std::string last;
  for (const compile::Step& step : timeline.steps) {
    const graph::Node& node = graph[step.node];
    std::string module = ModuleOfNode(node);
    for (const graph::ValueId input : node.inputs) {
      if (!module.empty()) break;
      if (input.valid() && !graph[input].producer.valid())
        module = ModuleOfWeight(graph[input].name);
    }
    if (!module.empty()) last = std::move(module);
    modules.push_back(last);
  }
  return modules;
}

}  // namespace plimsoll::engine
