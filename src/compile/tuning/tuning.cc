#include "compile/tuning/tuning.h"

#include <algorithm>

#include "graph/operator_row.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

std::string TypeText(const Graph& graph, ValueId value) {
  if (!value.valid()) return "-";
  const graph::ValueType& type = graph[value].type;
  return StrCat(graph[value].constant.valid() ? "constant " : "", Text(type));
}

// Attributes that carry bodies or tensors are told by their kind: nodes that have them are not
// tuned one by one, and graphs are told apart by what is in the bodies.
struct AttributeText {
  std::string operator()(int64_t number) const { return StrCat(number); }
  std::string operator()(double number) const { return StrCat(number); }
  std::string operator()(const std::string& text) const { return StrCat("'", text, "'"); }
  std::string operator()(const std::vector<int64_t>& list) const { return Join(list, ","); }
  std::string operator()(const std::vector<double>& list) const { return Join(list, ","); }
  std::string operator()(const std::vector<std::string>& list) const { return Join(list, ","); }
  std::string operator()(const graph::ValueType& type) const { return Text(type); }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "...";
  }
};

std::string AttributesText(const Node& node) {
  std::vector<std::string> texts;
  for (const auto& [name, attribute] : node.attributes) {
    texts.push_back(StrCat(name, "=", std::visit(AttributeText(), attribute)));
  }
  std::sort(texts.begin(), texts.end());
  return Join(texts, " ");
}

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool HasInput(const Node& node, size_t i) {
  return i < node.inputs.size() && node.inputs[i].valid();
}

}  // namespace

std::string SignatureOf(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  for (const ValueId input : node.inputs) inputs.push_back(TypeText(graph, input));
  for (const ValueId output : node.outputs) outputs.push_back(TypeText(graph, output));
  return StrCat(OperatorName(node), " ", node.version, " {", AttributesText(node), "} ",
                Join(inputs, ", "), " -> ", Join(outputs, ", "), "; threads ", kernels::Threads());
}

std::string SignatureOf(const Graph& graph) {
  std::string text;
  for (const graph::Subgraph& body : graph.subgraphs) {
    for (const NodeId id : body.nodes) {
      text += SignatureOf(graph, id);
      for (const auto* values : {&graph[id].inputs, &graph[id].outputs}) {
        for (const ValueId value : *values) {
          text += value.valid() ? StrCat(" ", value.index()) : std::string(" -");
        }
      }
      text += '\n';
    }
    text += "end\n";
  }
  return text;
}

std::vector<std::string> TypesIn(const Node& node) {
  std::vector<std::string> types = {node.op};
  if (node.domain != "plimsoll") return types;
  const auto add = [&](bool there, std::string type) {
    if (there) types.push_back(std::move(type));
  };
  const std::string activation = node.attributes.String("activation", "");
  const bool gelu = activation == "GeluTanh";
  add(!activation.empty(), gelu ? "Gelu" : activation);
  if (node.op == "FusedConv") {
    add(true, "Conv");
    add(HasInput(node, 3), "Add");
  } else if (node.op == "FusedMatMul") {
    add(true, "MatMul");
    add(true, "Gemm");
    add(HasInput(node, 2) || HasInput(node, 3), "Add");
    add(node.attributes.Float("alpha", 1) != 1, "Mul");
    add(node.attributes.Int("transA", 0) + node.attributes.Int("transB", 0) > 0, "Transpose");
  } else if (node.op == "FusedAttention") {
    for (const char* type : {"MatMul", "Softmax", "Mul", "Transpose"}) add(true, type);
    add(HasInput(node, 3), "Add");
  } else if (node.op == "FusedPool") {
    add(true, node.attributes.String("kind", "MaxPool"));
  }
  return types;
}

bool IsSelected(const TuningOptions& options, const Graph& graph, NodeId id) {
  if (options.names.empty() && options.types.empty()) return true;
  if (Contains(options.names, graph[id].name)) return true;
  return std::ranges::any_of(
      TypesIn(graph[id]), [&](const std::string& type) { return Contains(options.types, type); });
}

}  // namespace plimsoll::compile
