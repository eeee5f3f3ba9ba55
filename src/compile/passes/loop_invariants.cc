#include "compile/passes/loop_invariants.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compile/bodies/loops.h"
#include "compile/passes/rewriter.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// Where carried value 0 stands in the lists of the node and of its body.
struct CarriedPlaces {
  size_t node_input = 0;
  size_t body_input = 0;
  size_t body_output = 0;
  size_t count = 0;
};

CarriedPlaces PlacesOf(const graph::Node& node) {
  if (node.op == "Loop") return {2, 2, 1, node.inputs.size() - 2};
  const auto walked = static_cast<size_t>(node.attributes.Int("num_scan_inputs", 0));
  return {0, 0, 0, node.inputs.size() - walked};
}

// The first carried value that the body hands on as it was given, and nothing else of the body
// does.
std::optional<size_t> FindInvariant(const Graph& graph, const graph::Node& node,
                                    const graph::Subgraph& body, const CarriedPlaces& places) {
  for (size_t i = 0; i < places.count; ++i) {
    const ValueId input = body.inputs[places.body_input + i];
    const auto uses = std::count(body.outputs.begin(), body.outputs.end(), input);
    if (body.outputs[places.body_output + i] != input || uses != 1) continue;
    const ValueId initial = node.inputs[places.node_input + i];
    if (initial.valid() && graph[initial].type.is_tensor()) return i;
  }
  return std::nullopt;
}

// The output stays under its name where a body returns it: a node makes it from the initial value.
void CopyBehind(Graph& graph, NodeId loop, ValueId initial, ValueId output) {
  const NodeId id(graph.nodes.size());
  graph::Node copy;
  copy.name = graph[output].name;
  copy.op = "Identity";
  copy.version = graph[loop].version;
  copy.inputs = {initial};
  copy.outputs = {output};
  copy.home = graph[loop].home;
  graph.nodes.push_back(std::move(copy));
  std::vector<NodeId>& nodes = graph[graph[id].home].nodes;
  nodes.insert(std::find(nodes.begin(), nodes.end(), loop) + 1, id);
  graph[output].producer = id;
}

void TakeOut(Graph& graph, NodeId loop, SubgraphId body_id, const CarriedPlaces& places,
             size_t index) {
  graph::Node& node = graph[loop];
  graph::Subgraph& body = graph[body_id];
  const auto erase = [](auto& list, size_t at) {
    if (at >= list.size()) return ValueId();
    const ValueId value = list[at];
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    return value;
  };
  const ValueId initial = erase(node.inputs, places.node_input + index);
  const ValueId output = erase(node.outputs, index);
  const ValueId input = erase(body.inputs, places.body_input + index);
  erase(body.outputs, places.body_output + index);
  const bool returned = output.valid() && Rewriter(graph).IsOutput(output);
  if (returned) CopyBehind(graph, loop, initial, output);
  Rewriter rewriter(graph);
  rewriter.ReplaceUses(input, initial);
  if (output.valid() && !returned) {
    rewriter.ReplaceUses(output, initial);
    graph[output].producer = {};
  }
}

}  // namespace

FusionCounts RemoveLoopInvariants(Graph& graph, const FusionSwitches& /*switches*/) {
  FusionCounts counts;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id(i);
    if (!graph[id].home.valid() || !IsLoop(graph[id])) continue;
    const SubgraphId body = graph[id].attributes.Subgraph("body");
    for (;;) {
      const CarriedPlaces places = PlacesOf(graph[id]);
      const auto found = FindInvariant(graph, graph[id], graph[body], places);
      if (!found) break;
      if (!MayRewrite(graph[id])) {
        counts.Declined(FusionPattern::kLoopInvariant);
        break;
      }
      TakeOut(graph, id, body, places, *found);
      counts.Took(FusionPattern::kLoopInvariant);
    }
  }
  return counts;
}

}  // namespace plimsoll::compile
