#include "onnx/graph_assembler.h"

#include <type_traits>

#include "graph/content.h"
#include "graph/operator_row.h"
#include "onnx/contributed/contributed_functions.h"
#include "onnx/node_order.h"
#include "onnx/values/type_decoder.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using graph::ConstantTensor;
using graph::Graph;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;
using graph::ValueType;

constexpr std::string_view kMemoryPrefix = "plimsoll.";

// Roughly what a copy of an attribute costs; the elements of tensors are shared.
struct CopyCost {
  size_t operator()(const std::string& text) const { return text.size(); }
  size_t operator()(const ConstantTensor& tensor) const {
    return sizeof(tensor) + tensor.name.size() + tensor.dims.size() * sizeof(int64_t) +
           tensor.strings.size() * sizeof(std::string_view);
  }
  template <typename T>
  size_t operator()(const std::vector<T>& list) const {
    size_t cost = list.size() * sizeof(T);
    if constexpr (!std::is_trivially_copyable_v<T>) {
      for (const T& element : list) cost += (*this)(element);
    }
    return cost;
  }
  template <typename T>
  size_t operator()(const T&) const {
    return 0;
  }
};

}  // namespace

Result<Graph> GraphAssembler::Assemble() {
  graph_.ir_version = static_cast<int>(model_.ir_version);
  graph_.producer = std::string(model_.producer_name);
  if (!model_.producer_version.empty()) graph_.producer += StrCat(" ", model_.producer_version);
  for (const auto& [key, value] : model_.metadata) graph_.metadata.emplace_back(key, value);
  for (const OpsetRecord& opset : model_.opsets) {
    graph_.opsets.emplace_back(opset.domain, static_cast<int>(opset.version));
  }
  graph_.subgraphs.emplace_back();
  Body root{.scope = Scope(nullptr), .home = Graph::kRoot};
  PLIMSOLL_TRY(AddGraph(model_.graph, root));
  return std::move(graph_);
}

Status GraphAssembler::AddGraph(const GraphRecord& record, Body& body) {
  graph_[body.home].name = std::string(record.name);
  PLIMSOLL_TRY(budget_.Spend(record.name.size()));
  PLIMSOLL_TRY(AddConstants(record, body));
  PLIMSOLL_TRY(AddInputs(record, body));
  PLIMSOLL_TRY(AddNodes(record.nodes, body));
  PLIMSOLL_TRY(AddOutputs(record, body));
  for (const ValueInfoRecord& info : record.value_infos) {
    if (const auto id = body.scope.FindHere(info.name)) PLIMSOLL_TRY(Declare(info, *id, false));
  }
  return {};
}

Status GraphAssembler::AddConstants(const GraphRecord& record, Body& body) {
  for (const ConstantTensor& tensor : record.initializers) {
    PLIMSOLL_TRY(budget_.Spend(CopyCost()(tensor)));
    PLIMSOLL_ASSIGN(const ValueId id, AddValue(ValueName(tensor.name, body), body.home));
    if (tensor.name.empty() || !body.scope.Define(tensor.name, id)) {
      return source_.BadFile("onnx.duplicate", source_.At(PlaceOf(body)),
                             tensor.name.empty()
                                 ? "an initializer has no name"
                                 : StrCat("two initializers are called ", Quote(tensor.name)));
    }
    graph::Value& value = graph_[id];
    value.constant = graph::ConstantId(graph_.constants.size());
    value.type = ValueType::Tensor(tensor.type, graph::ShapeOf(tensor.dims));
    value.content = graph::ContentOf(tensor);
    if (value.content) {
      PLIMSOLL_TRY(budget_.Spend(value.content->size() * sizeof(graph::Dim)));
    }
    graph_.constants.push_back(tensor);
  }
  return {};
}

Status GraphAssembler::AddInputs(const GraphRecord& record, Body& body) {
  for (const ValueInfoRecord& input : record.inputs) {
    const auto known = body.scope.FindHere(input.name);
    if (known && graph_[*known].constant.valid()) {
      PLIMSOLL_TRY(Declare(input, *known, false));
      continue;
    }
    if (known || input.name.empty()) {
      return source_.BadFile(
          "onnx.duplicate", source_.At(PlaceOf(body)),
          known ? StrCat("two inputs are called ", Quote(input.name)) : "an input has no name");
    }
    PLIMSOLL_ASSIGN(const ValueId id, AddValue(ValueName(input.name, body), body.home));
    body.scope.Define(input.name, id);
    graph_[body.home].inputs.push_back(id);
    PLIMSOLL_TRY(Declare(input, id, body.home == Graph::kRoot));
  }
  return {};
}

Status GraphAssembler::AddOutputs(const GraphRecord& record, Body& body) {
  for (const ValueInfoRecord& output : record.outputs) {
    const auto id = body.scope.Find(output.name);
    if (!id || !id->valid()) {
      const auto nearest = body.scope.Nearest(output.name);
      return source_.BadFile(
          "onnx.missing_output", source_.At(PlaceOf(body)),
          StrCat("nobody makes its output ", Quote(output.name)),
          nearest ? StrCat("did you mean ", Quote(*nearest), "?") : "export the model again");
    }
    graph_[body.home].outputs.push_back(*id);
    if (body.scope.FindHere(output.name)) PLIMSOLL_TRY(Declare(output, *id, false));
  }
  return {};
}

Status GraphAssembler::Declare(const ValueInfoRecord& info, ValueId id, bool is_model_input) {
  if (!id.valid() || graph_[id].declared.kind != ValueType::Kind::kUnknown) return {};
  constexpr size_t kGrowth = 40;  // a dimension's few bytes become an expression
  PLIMSOLL_TRY(budget_.Spend(info.type.size() * kGrowth));
  PLIMSOLL_ASSIGN(ValueType type, DecodeType(source_, info.type));
  graph::Value& value = graph_[id];
  if (!is_model_input) {
    value.declared = std::move(type);
    return {};
  }
  value.declared = WithOwnSymbols(std::move(type), info.name);
  value.type = value.declared;
  return {};
}

Status GraphAssembler::AddNodes(const std::vector<NodeRecord>& records, Body& body) {
  for (size_t i = 0; i < records.size(); ++i) {
    for (const std::string_view output : records[i].outputs) {
      if (output.empty() || !body.scope.FindHere(output)) continue;
      return source_.BadFile("onnx.duplicate", Where({records[i], i, body}),
                             StrCat("it makes ", Quote(output),
                                    ", which is an input or a constant of its graph already"),
                             "every value needs a name of its own");
    }
  }
  PLIMSOLL_ASSIGN(const std::vector<size_t> order,
                  OrderNodes(source_, records, PlaceOf(body),
                             [&](std::string_view name) { return body.scope.IsOutside(name); }));
  for (const size_t index : order) PLIMSOLL_TRY(AddNode({records[index], index, body}));
  return {};
}

Status GraphAssembler::AddNode(const Site& site) {
  const NodeRecord& record = site.record;
  if (const auto* function = functions_.Find(record)) return Expand(*function, site);
  PLIMSOLL_ASSIGN(const bool expanded, ExpandContributed(site));
  if (expanded) return {};
  PLIMSOLL_ASSIGN(const int version,
                  OpsetsOf(site.body).VersionFor(source_, record, [&] { return Where(site); }));
  PLIMSOLL_ASSIGN(const NodeId id, AddEmptyNode(site.body));
  {
    graph::Node& node = graph_[id];
    node.name = NodeName(record, site.body);
    node.domain = std::string(record.domain);
    node.op = std::string(record.op);
    node.version = version;
    PLIMSOLL_TRY(budget_.Spend(node.name.size() + node.domain.size() + node.op.size() +
                               record.inputs.size() * sizeof(ValueId)));
    for (const std::string_view input : record.inputs) {
      PLIMSOLL_ASSIGN(const ValueId value, Resolve(input, site));
      node.inputs.push_back(value);
    }
  }
  PLIMSOLL_TRY(AddAttributes(site, id));
  PLIMSOLL_TRY(AddNodeOutputs(site, id));
  PLIMSOLL_TRY(SetMemory(site, id));
  graph_[site.body.home].nodes.push_back(id);
  return {};
}

Status GraphAssembler::AddAttributes(const Site& site, NodeId id) {
  graph_[id].attributes.Reserve(site.record.attributes.size());
  for (const AttributeRecord& attribute : site.record.attributes) {
    const auto bound = Bind(attribute, site.body);
    if (!bound) continue;
    const AttributeRecord& meant = *bound->record;
    PLIMSOLL_TRY(budget_.Spend(sizeof(graph::Attribute) + attribute.name.size() +
                               std::visit(CopyCost(), meant.value)));
    graph::Attribute value = meant.value;
    if (meant.kind != AttributeRecord::Kind::kValue) {
      std::vector<SubgraphId> bodies;
      for (const GraphRecord& record : meant.graphs) {
        PLIMSOLL_ASSIGN(bodies.emplace_back(), AddBody(record, attribute, *bound, site, id));
      }
      if (meant.kind == AttributeRecord::Kind::kGraph) {
        value = bodies.front();
      } else {
        value = std::move(bodies);
      }
    }
    graph_[id].attributes.Set(std::string(attribute.name), std::move(value));
  }
  return {};
}

Result<SubgraphId> GraphAssembler::AddBody(const GraphRecord& record,
                                           const AttributeRecord& attribute,
                                           const BoundAttribute& bound, const Site& site,
                                           NodeId id) {
  const Body& body = site.body;
  if (body.depth == kMaxNesting) {
    return source_.BadFile("onnx.limit", Where(site),
                           StrCat("graphs are nested more than ", kMaxNesting, " deep"));
  }
  PLIMSOLL_TRY(budget_.Spend(sizeof(graph::Subgraph)));
  const SubgraphId home(graph_.subgraphs.size());
  graph_.subgraphs.emplace_back();
  graph_[home].owner = id;
  Body inner{.scope = Scope(&bound.body->scope),
             .home = home,
             .call = bound.body->call,
             .named_by = body.named_by,
             .depth = body.depth + 1,
             .label = attribute.name,
             .around = &body,
             .owner = &site.record,
             .owner_index = site.index};
  PLIMSOLL_TRY(AddGraph(record, inner));
  return home;
}

Status GraphAssembler::AddNodeOutputs(const Site& site, NodeId id) {
  for (const std::string_view output : site.record.outputs) {
    ValueId value;
    if (!output.empty()) {
      PLIMSOLL_ASSIGN(value, AddValue(ValueName(output, site.body), site.body.home));
      graph_[value].producer = id;
      site.body.scope.Define(output, value);
    }
    graph_[id].outputs.push_back(value);
  }
  return budget_.Spend(site.record.outputs.size() * sizeof(ValueId));
}

Status GraphAssembler::SetMemory(const Site& site, NodeId id) {
  graph::Node& node = graph_[id];
  const auto* row = graph::FindOperator(node.domain, node.op, node.version);
  if (row != nullptr && row->facts.memory != nullptr) row->facts.memory(node, node.memory);

  const auto apply = [&](std::string_view key, std::string_view value) -> Status {
    if (!key.starts_with(kMemoryPrefix)) return {};
    const auto fail = [&](std::string why, std::string remedy) {
      return source_.BadFile("onnx.metadata", StrCat(Where(site), ", metadata ", Quote(key)),
                             std::move(why), std::move(remedy));
    };
    graph::MemoryAttributes changed = node.memory;
    const Status applied = graph::Apply(changed, key.substr(kMemoryPrefix.size()), value);
    if (!applied.ok()) return fail(applied.error().why, applied.error().remedy);
    const auto outputs = static_cast<int>(node.outputs.size());
    const auto inputs = static_cast<int>(node.inputs.size());
    for (const auto& reference : changed.reference_outputs) {
      if (reference.output >= outputs || reference.input >= inputs) {
        return fail(StrCat("output ", reference.output, " cannot be input ", reference.input,
                           " of a node with ", inputs, " inputs and ", outputs, " outputs"),
                    "");
      }
    }
    for (const int output : changed.needs_clearing) {
      if (output >= outputs) {
        return fail(StrCat("the node has ", outputs, " outputs, so none has number ", output), "");
      }
    }
    node.memory = std::move(changed);
    return {};
  };
  if (site.body.named_by != nullptr) {
    for (const auto& [key, value] : site.body.named_by->memory) PLIMSOLL_TRY(apply(key, value));
  }
  for (const auto& [key, value] : site.record.metadata) PLIMSOLL_TRY(apply(key, value));
  return {};
}

Result<ValueId> GraphAssembler::AddValue(std::string name, SubgraphId home) {
  constexpr size_t kScopeEntry = 96;
  PLIMSOLL_TRY(budget_.Spend(sizeof(graph::Value) + name.size() + kScopeEntry));
  const ValueId id(graph_.values.size());
  graph::Value& value = graph_.values.emplace_back();
  value.name = std::move(name);
  value.home = home;
  return id;
}

Result<NodeId> GraphAssembler::AddEmptyNode(const Body& body) {
  PLIMSOLL_TRY(budget_.Spend(sizeof(graph::Node)));
  const NodeId id(graph_.nodes.size());
  graph_.nodes.emplace_back().home = body.home;
  return id;
}

Result<ValueId> GraphAssembler::Resolve(std::string_view name, const Site& site) const {
  if (name.empty()) return ValueId();
  if (const auto id = site.body.scope.Find(name)) return *id;
  const auto nearest = site.body.scope.Nearest(name);
  return source_.BadFile(
      "onnx.missing_input", Where(site), StrCat("it reads ", Quote(name), ", which nobody makes"),
      nearest ? StrCat("did you mean ", Quote(*nearest), "?") : "export the model again");
}

std::string GraphAssembler::ValueName(std::string_view name, const Body& body) {
  if (body.named_by == nullptr) return std::string(name);
  if (body.is_expansion) {
    const auto given = body.call->output_names.find(name);
    if (given != body.call->output_names.end()) return given->second;
  }
  return names_.Make(StrCat(body.named_by->prefix, "/", name));
}

std::string GraphAssembler::NodeName(const NodeRecord& record, const Body& body) const {
  if (body.named_by == nullptr) return std::string(record.name);
  return StrCat(body.named_by->prefix, "/", record.name.empty() ? record.op : record.name);
}

const OpsetTable& GraphAssembler::OpsetsOf(const Body& body) const {
  return body.call == nullptr ? opsets_ : body.call->function->opsets;
}

std::string GraphAssembler::PlaceOf(const Body& body) const {
  if (body.around == nullptr) return std::string(body.label);
  return StrCat(NodePlace(PlaceOf(*body.around), *body.owner, body.owner_index), ".",
                Printable(body.label));
}

std::string GraphAssembler::Where(const Site& site) const {
  return source_.At(NodePlace(PlaceOf(site.body), site.record, site.index));
}

}  // namespace plimsoll::onnx
