#include "cli/reports/model/model_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/operator_row.h"
#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Value;
using graph::ValueId;

ModelReport::Port PortOf(const Value& value) {
  return {value.name, Text(value.type), SizeOf(value.type)};
}

// The tensor that a node carries which makes nothing of inputs; null: there is none.
const graph::ConstantTensor* CarriedBy(const Node& node) {
  if (!node.inputs.empty()) return nullptr;
  for (const auto& [name, value] : node.attributes) {
    if (const auto* tensor = std::get_if<graph::ConstantTensor>(&value)) return tensor;
  }
  return nullptr;
}

// The constant that a value is, in whichever of the two ways a file can have it.
const graph::ConstantTensor* ConstantOf(const Graph& graph, ValueId value) {
  if (!value.valid()) return nullptr;
  if (graph[value].constant.valid()) return &graph[graph[value].constant];
  const NodeId maker = graph[value].producer;
  return maker.valid() ? CarriedBy(graph[maker]) : nullptr;
}

std::vector<ModelReport::Operator> CountOperators(const Graph& graph) {
  std::map<std::string, ModelReport::Operator> counts;
  std::set<const graph::ConstantTensor*> seen;
  for (const Node& node : graph.nodes) {
    ModelReport::Operator& row = counts[OperatorName(node)];
    ++row.count;
    for (const ValueId input : node.inputs) {
      const graph::ConstantTensor* const constant = ConstantOf(graph, input);
      if (constant != nullptr && seen.insert(constant).second) {
        row.parameters = SaturatingAdd(row.parameters, constant->ElementCount());
      }
    }
    const graph::OperationsRule rule = graph::FactsOf(node).operations;
    const int64_t operations = rule != nullptr ? rule(graph, node) : 0;
    row.operations = SaturatingAdd(row.operations, operations);
    if (rule != nullptr && operations == 0) ++row.uncounted;
  }
  std::vector<ModelReport::Operator> sorted;
  for (auto& [name, row] : counts) {
    row.name = name;
    sorted.push_back(row);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return sorted;
}

// The file's tensors: initializers, and what nodes carry as attributes, as Constant does.
std::vector<const graph::ConstantTensor*> TensorsOf(const Graph& graph) {
  std::vector<const graph::ConstantTensor*> tensors;
  for (const graph::ConstantTensor& tensor : graph.constants) tensors.push_back(&tensor);
  for (const Node& node : graph.nodes) {
    for (const auto& [name, value] : node.attributes) {
      if (const auto* tensor = std::get_if<graph::ConstantTensor>(&value)) {
        tensors.push_back(tensor);
      }
    }
  }
  return tensors;
}

void CountWeights(const Graph& graph, ModelReport& report) {
  std::map<std::string, ModelReport::Weights> by_type;
  std::set<std::string> missing;
  for (const graph::ConstantTensor* one : TensorsOf(graph)) {
    const graph::ConstantTensor& tensor = *one;
    ModelReport::Weights& row = by_type[std::string(Name(tensor.type))];
    ++row.tensors;
    row.bytes += tensor.Size();
    report.weight_bytes += tensor.Size();
    if (tensor.missing) {
      ++report.missing_tensors;
      missing.insert(tensor.external_file);
    }
  }
  for (auto& [type, row] : by_type) {
    row.type = type;
    report.weights.push_back(row);
  }
  std::stable_sort(report.weights.begin(), report.weights.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  report.missing_files.assign(missing.begin(), missing.end());
}

std::string NearestSupported(const std::string& name) {
  std::vector<std::string> supported;
  for (const graph::OperatorRow* row : graph::AllOperators()) supported.emplace_back(row->name);
  return NearestName(name, supported).value_or("");
}

void FindUnsupported(const Graph& graph, ModelReport& report) {
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (graph::FindOperator(node.domain, node.op, node.version) != nullptr) continue;
    const std::string name = OperatorName(node);
    const auto [entry, added] = seen.emplace(name, report.unsupported.size());
    if (added) {
      report.unsupported.push_back(
          {name, Describe(graph, NodeId(i)), 0, NearestSupported(node.op)});
    }
    ++report.unsupported[entry->second].count;
  }
}

void FindLargest(const Graph& graph, ModelReport& report) {
  constexpr size_t kShown = 5;
  for (const Value& value : graph.values) {
    if (value.producer.valid() && SizeOf(value.type))
      report.largest_values.push_back(PortOf(value));
  }
  std::stable_sort(report.largest_values.begin(), report.largest_values.end(),
                   [](const auto& a, const auto& b) { return *a.bytes > *b.bytes; });
  report.largest_values.resize(std::min(kShown, report.largest_values.size()));
}

}  // namespace

ModelReport MakeReport(const Graph& graph, std::string file, const compile::Bindings& bindings) {
  ModelReport report;
  report.file = std::move(file);
  report.ir_version = graph.ir_version;
  report.producer = graph.producer;
  report.opsets = graph.opsets;
  report.metadata = graph.metadata;
  for (const ValueId input : graph.root().inputs) report.inputs.push_back(PortOf(graph[input]));
  for (const ValueId output : graph.root().outputs) report.outputs.push_back(PortOf(graph[output]));
  report.open = graph::FindOpenDimensions(graph);
  report.nodes = static_cast<int>(graph.nodes.size());
  report.bodies = static_cast<int>(graph.subgraphs.size()) - 1;
  report.operators = CountOperators(graph);
  CountWeights(graph, report);
  FindLargest(graph, report);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    std::string asks = Text(graph.nodes[i].memory);
    if (!asks.empty()) {
      report.memory_attributes.emplace_back(Describe(graph, NodeId(i)), std::move(asks));
    }
  }
  FindUnsupported(graph, report);
  report.declared = compile::CheckDeclared(graph, bindings);
  return report;
}

}  // namespace plimsoll::cli
