#include "cli/reports/model/compiled_report.h"

#include <algorithm>
#include <set>

#include "cli/reports/model/graph_json.h"
#include "cli/reports/text_table.h"
#include "compile/plan_model.h"
#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Which tensors have their channels in blocks, and how wide these are: passes put in operators that
// make such tensors, and let others work on them as they are.
class Layouts {
 public:
  explicit Layouts(const Graph& graph) : graph_(graph), block_(graph.values.size()) {}

  // Nodes come in an order in which values are made before they are read.
  std::string Visit(NodeId id) {
    const Node& node = graph_[id];
    const int64_t in = InputBlock(node);
    const int64_t out = OutputBlock(node, in);
    for (const ValueId output : node.outputs) {
      if (output.valid()) block_[output.index()] = out;
    }
    return in == out ? Name(in) : StrCat("to ", Name(out));
  }

 private:
  static std::string Name(int64_t block) {
    return block == 0 ? std::string("plain") : StrCat("blocked ", block);
  }

  int64_t InputBlock(const Node& node) const {
    if (node.attributes.Int("input_blocked", 1) == 0) return 0;
    int64_t widest = 0;
    for (const ValueId input : node.inputs) {
      if (input.valid()) widest = std::max(widest, block_[input.index()]);
    }
    return widest;
  }

  // An operator of ours that changes the layout says what it makes ("block") of what ("channels").
  static int64_t OutputBlock(const Node& node, int64_t in) {
    if (node.domain != "plimsoll") return in;
    if (node.attributes.Int("output_blocked", 1) == 0) return 0;
    const int64_t made = node.attributes.Int("block", 0);
    return made > 0 || node.attributes.Int("channels", 0) > 0 ? made : in;
  }

  const Graph& graph_;
  std::vector<int64_t> block_;  // by value; 0: plain
};

// Operators of our own, which passes put in, go by their name alone.
std::string ShownOperator(const Node& node) {
  return node.domain == "plimsoll" ? node.op : OperatorName(node);
}

std::string WeightForm(const compile::CompiledModel& model, NodeId id) {
  const Node& node = model.graph[id];
  bool reads = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid() || !model.graph[node.inputs[i]].constant.valid()) continue;
    if (((model.packed_inputs[id.index()] >> i) & 1) != 0) return "packed";
    reads = true;
  }
  return reads ? "plain" : "";
}

}  // namespace

std::vector<CompiledNode> CompiledNodes(const engine::Executable& executable) {
  const compile::CompiledModel& model = executable.model();
  const compile::PlannedBuffers& buffers = model.planned.buffers;
  Layouts layouts(model.graph);
  std::set<NodeId> seen;
  std::vector<CompiledNode> nodes;
  for (const compile::Step& step : model.planned.timeline.steps) {
    if (!seen.insert(step.node).second) continue;
    CompiledNode row;
    row.id = step.node;
    const size_t index = step.node.index();
    if (model.kernels[index] != nullptr) row.kernel = model.kernels[index]->implementation();
    row.layout = layouts.Visit(step.node);
    row.weight_form = WeightForm(model, step.node);
    for (const ValueId output : model.graph[step.node].outputs) {
      if (output.valid()) row.made += graph::SizeOf(model.graph[output].type).value_or(Bytes(0));
    }
    if (index < buffers.workspace_of.size() && buffers.workspace_of[index].valid()) {
      row.workspace = buffers.problem.buffer(buffers.workspace_of[index]).size;
    }
    nodes.push_back(std::move(row));
  }
  return nodes;
}

std::string CompiledText(const SessionPlan::Model& model, const std::string& file,
                         size_t nodes_before) {
  const Graph& graph = model.executable->model().graph;
  const std::vector<CompiledNode> nodes = CompiledNodes(*model.executable);
  std::vector<std::vector<std::string>> rows = {
      {"", "node", "operator", "kernel", "layout", "weights", "makes", "workspace"}};
  for (size_t i = 0; i < nodes.size(); ++i) {
    const CompiledNode& row = nodes[i];
    const Node& node = graph[row.id];
    rows.push_back({StrCat(i), node.name, ShownOperator(node),
                    row.kernel.empty() ? "-" : row.kernel, row.layout, row.weight_form,
                    FormatBytes(row.made),
                    row.workspace > Bytes(0) ? FormatBytes(row.workspace) : ""});
  }
  return StrCat(file, ": ", Counted(nodes_before, "node"), " in the file, ", nodes.size(),
                " after passes\n",
                FittedTable(std::move(rows), 6, 1, {"weights", "workspace", "kernel"}),
                "planned peak ", compile::FeatureMapPeak(model.executable->model().planned),
                ", weights ", model.memory.weights, "\n");
}

Json CompiledJson(const SessionPlan::Model& model, const std::string& file, size_t nodes_before) {
  const Graph& graph = model.executable->model().graph;
  const std::vector<CompiledNode> nodes = CompiledNodes(*model.executable);
  Json json{
      {"file", file},
      {"inputs", TypedNames(graph, graph.root().inputs)},
      {"outputs", TypedNames(graph, graph.root().outputs)},
      {"nodes", nodes.size()},
      {"nodes_before", nodes_before},
      {"planned_peak_bytes", compile::FeatureMapPeak(model.executable->model().planned).value()},
      {"weights_bytes", model.memory.weights.value()},
      {"node_list", Json::array()}};
  for (const CompiledNode& row : nodes) {
    const Node& node = graph[row.id];
    json["node_list"].push_back(
        {{"name", node.name},
         {"operator", OperatorName(node)},
         {"kernel", row.kernel},
         {"layout", row.layout},
         {"weight_form", row.weight_form.empty() ? Json() : Json(row.weight_form)},
         {"inputs", TypedNames(graph, node.inputs)},
         {"outputs", TypedNames(graph, node.outputs)},
         {"made_bytes", row.made.value()},
         {"workspace_bytes", row.workspace.value()},
         {"body", node.home.valid() ? node.home.index() : 0}});
  }
  return {{"models", Json::array({std::move(json)})}};
}

}  // namespace plimsoll::cli
