#include "graph/text_form.h"

#include <set>

#include "plimsoll/base/text.h"

namespace plimsoll::graph {
namespace {

constexpr int64_t kShownElements = 8;

std::string Elements(const ConstantTensor& tensor) {
  if (tensor.missing) return " = (missing: " + tensor.external_file + ")";
  if (tensor.ElementCount() > kShownElements) return "";
  std::vector<std::string> parts;
  for (std::string_view text : tensor.strings) parts.push_back(StrCat('"', text, '"'));
  const bool whole = IsInteger(tensor.type) || tensor.type == DataType::kBool;
  if (whole) {
    for (int64_t number : tensor.Integers()) parts.push_back(StrCat(number));
  } else {
    for (double number : tensor.Doubles()) parts.push_back(StrCat(number));
  }
  return " = [" + Join(parts, ", ") + "]";
}

std::string TensorText(const ConstantTensor& tensor) {
  return StrCat(Name(tensor.type), Text(ShapeOf(tensor.dims)), Elements(tensor));
}

struct AttributeText {
  std::string operator()(int64_t number) const { return StrCat(number); }
  std::string operator()(double number) const { return StrCat(number); }
  std::string operator()(const std::string& text) const { return StrCat('"', text, '"'); }
  std::string operator()(const std::vector<int64_t>& list) const {
    return StrCat("[", Join(list, ", "), "]");
  }
  std::string operator()(const std::vector<double>& list) const {
    return StrCat("[", Join(list, ", "), "]");
  }
  std::string operator()(const std::vector<std::string>& list) const {
    return StrCat("[\"", Join(list, "\", \""), "\"]");
  }
  std::string operator()(const ConstantTensor& tensor) const { return TensorText(tensor); }
  std::string operator()(const std::vector<ConstantTensor>& list) const {
    return StrCat(list.size(), " tensors");
  }
  std::string operator()(SubgraphId id) const { return StrCat("body ", id.index()); }
  std::string operator()(const std::vector<SubgraphId>& list) const {
    return StrCat(list.size(), " bodies");
  }
  std::string operator()(const ValueType& type) const { return Text(type); }
};

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  void Body(SubgraphId id, const std::string& indent) {
    const Subgraph& body = graph_[id];
    for (const ValueId value : body.inputs) {
      Line(indent, StrCat("input ", Typed(value)));
    }
    for (const NodeId node : body.nodes) {
      for (const ValueId input : graph_[node].inputs) ShowConstant(input, indent);
      ShowNode(node, indent);
    }
    for (const ValueId value : body.outputs) {
      ShowConstant(value, indent);
      Line(indent, StrCat("output ", Named(value)));
    }
  }

  std::string Take() { return std::move(out_); }
  void Line(const std::string& indent, const std::string& text) { out_ += indent + text + "\n"; }

 private:
  std::string Named(ValueId id) const { return id.valid() ? StrCat("%", graph_[id].name) : "-"; }
  std::string Typed(ValueId id) const {
    return id.valid() ? StrCat(Named(id), ": ", Text(graph_[id].type)) : "-";
  }

  void ShowConstant(ValueId id, const std::string& indent) {
    if (!id.valid() || !graph_[id].constant.valid() || !shown_.insert(id).second) return;
    Line(indent, StrCat("const ", Named(id), ": ", TensorText(graph_[graph_[id].constant])));
  }

  void ShowNode(NodeId id, const std::string& indent) {
    const Node& node = graph_[id];
    std::vector<std::string> outputs;
    std::vector<std::string> inputs;
    std::vector<std::string> attributes;
    for (const ValueId value : node.outputs) outputs.push_back(Typed(value));
    for (const ValueId value : node.inputs) inputs.push_back(Named(value));
    for (const auto& [name, value] : node.attributes) {
      attributes.push_back(StrCat(name, "=", Text(value)));
    }
    std::string line =
        StrCat(Join(outputs, ", "), " = ", OperatorName(node), "(", Join(inputs, ", "), ")");
    if (!attributes.empty()) line += StrCat(" {", Join(attributes, ", "), "}");
    const std::string memory = Text(node.memory);
    if (!memory.empty()) line += StrCat(" <", memory, ">");
    Line(indent, line);
    for (const SubgraphId body : SubgraphsOf(node)) {
      Line(indent, StrCat("  body ", body.index(), " ", graph_[body].name));
      Body(body, indent + "    ");
    }
  }

  const Graph& graph_;
  std::set<ValueId> shown_;
  std::string out_;
};

}  // namespace

std::string Text(const Attribute& attribute) { return std::visit(AttributeText(), attribute); }

std::string TextForm(const Graph& graph) {
  Writer writer(graph);
  writer.Line("", "graph");
  writer.Body(Graph::kRoot, "  ");
  return writer.Take();
}

}  // namespace plimsoll::graph
