#include <algorithm>

#include "graph/registered_operators.h"
#include "onnx/contributed/blocked_functions.h"
#include "onnx/contributed/contributed_functions.h"
#include "onnx/graph_assembler.h"
#include "plimsoll/base/text.h"

namespace plimsoll::onnx {
namespace {

using graph::NodeId;
using graph::ValueId;

// Metadata of a call that makes sense for each node that the call expands to.
bool PassesOn(std::string_view key) {
  return key == "plimsoll.stream" || key == "plimsoll.batch_label";
}

Result<std::optional<FunctionRecord>> FunctionOf(const NodeRecord& node, const BlockedNode* blocked,
                                                 const graph::Attributes& attributes) {
  if (blocked == nullptr) return ContributedFunction(node, attributes);
  PLIMSOLL_ASSIGN(FunctionRecord function, BlockedFunction(node, *blocked, attributes));
  return std::optional<FunctionRecord>(std::move(function));
}

}  // namespace

Status GraphAssembler::CheckCall(const FunctionRecord& function, const Site& site) const {
  const NodeRecord& record = site.record;
  if (site.body.depth == kMaxNesting) {
    return source_.BadFile("onnx.limit", Where(site),
                           StrCat("functions call each other more than ", kMaxNesting, " deep"));
  }
  if (record.inputs.size() > function.inputs.size() ||
      record.outputs.size() > function.outputs.size()) {
    return source_.BadFile("onnx.call", Where(site),
                           StrCat("it calls a function of ", function.inputs.size(), " inputs and ",
                                  function.outputs.size(), " outputs with ", record.inputs.size(),
                                  " and ", record.outputs.size()));
  }
  for (const auto& [key, value] : record.metadata) {
    if (!key.starts_with("plimsoll.") || PassesOn(key)) continue;
    return source_.BadFile("onnx.metadata", StrCat(Where(site), ", metadata ", Quote(key)),
                           "a call of a function has no memory of its own",
                           "put it on the nodes inside the function");
  }
  return {};
}

Result<GraphAssembler::Call> GraphAssembler::MakeCall(const FunctionTable::Entry& function,
                                                      const Site& site) {
  if (!names_taken_) names_.Take(model_.graph);
  names_taken_ = true;
  Call call;
  call.function = &function;
  std::string name = NodeName(site.record, site.body);
  call.prefix = names_.Make(name.empty() ? std::string(site.record.op) : std::move(name));
  PLIMSOLL_TRY(budget_.Spend(call.prefix.size()));
  for (const AttributeRecord& attribute : site.record.attributes) {
    if (const auto bound = Bind(attribute, site.body)) call.attributes[attribute.name] = *bound;
  }
  for (const AttributeRecord& attribute : function.record->defaults) {
    call.attributes.emplace(attribute.name, BoundAttribute{&attribute, &site.body});
  }
  for (size_t i = 0; i < site.record.outputs.size(); ++i) {
    const std::string_view given = site.record.outputs[i];
    const std::string_view inside = function.record->outputs[i];
    const bool passed_through =
        std::find(function.record->inputs.begin(), function.record->inputs.end(), inside) !=
        function.record->inputs.end();
    if (given.empty() || passed_through || call.output_names.contains(inside)) continue;
    call.output_names.emplace(inside, ValueName(given, site.body));
  }
  if (site.body.named_by != nullptr) call.memory = site.body.named_by->memory;
  for (const auto& entry : site.record.metadata) {
    if (PassesOn(entry.first)) call.memory.push_back(entry);
  }
  return call;
}

Status GraphAssembler::Expand(const FunctionTable::Entry& function, const Site& site) {
  PLIMSOLL_TRY(CheckCall(*function.record, site));
  PLIMSOLL_ASSIGN(const Call call, MakeCall(function, site));
  Body inner{.scope = Scope(nullptr),
             .home = site.body.home,
             .call = &call,
             .named_by = &call,
             .is_expansion = true,
             .depth = site.body.depth + 1,
             .label = function.record->name,
             .around = &site.body,
             .owner = &site.record,
             .owner_index = site.index};
  for (size_t i = 0; i < function.record->inputs.size(); ++i) {
    ValueId given;
    if (i < site.record.inputs.size()) {
      PLIMSOLL_ASSIGN(given, Resolve(site.record.inputs[i], site));
    }
    if (!inner.scope.Define(function.record->inputs[i], given)) {
      return source_.BadFile(
          "onnx.duplicate", source_.At(PlaceOf(inner)),
          StrCat("two inputs of the function are called ", Quote(function.record->inputs[i])));
    }
  }
  PLIMSOLL_TRY(AddNodes(function.record->nodes, inner));
  return GiveOutputs(*function.record, site, inner);
}

Result<bool> GraphAssembler::ExpandContributed(const Site& site) {
  const NodeRecord& record = site.record;
  const BlockedNode* const blocked = blocks_.Of(record);
  const int version = OpsetsOf(site.body).Find(record.domain).value_or(1);
  if (blocked == nullptr && !IsContributedFunction(record, version)) return false;
  // An operator that the program brings along goes before our composition.
  if (graph::FindRegisteredOperator(record.domain, record.op, 1) != nullptr) return false;
  graph::Attributes attributes;
  for (const AttributeRecord& attribute : record.attributes) {
    const auto bound = Bind(attribute, site.body);
    if (!bound || bound->record->kind != AttributeRecord::Kind::kValue) continue;
    attributes.Set(std::string(attribute.name), bound->record->value);
  }
  auto function = FunctionOf(record, blocked, attributes);
  if (!function.ok()) {
    return source_.Unsupported(function.error().code, Where(site), function.error().why);
  }
  if (!function->has_value()) return false;
  PLIMSOLL_TRY(
      OpsetsOf(site.body).VersionFor(source_, record, [&] { return Where(site); }).status());
  FunctionTable::Entry entry{&**function, {}};
  PLIMSOLL_ASSIGN(entry.opsets, OpsetTable::Make(source_, ContributedOpsets()));
  PLIMSOLL_TRY(Expand(entry, site));
  return true;
}

Status GraphAssembler::GiveOutputs(const FunctionRecord& function, const Site& site, Body& inner) {
  for (size_t i = 0; i < site.record.outputs.size(); ++i) {
    const std::string_view given = site.record.outputs[i];
    if (given.empty()) continue;
    const auto made = inner.scope.FindHere(function.outputs[i]);
    if (!made || !made->valid()) {
      return source_.BadFile(
          "onnx.missing_output", Where(site),
          StrCat("the function's output ", Quote(function.outputs[i]), " is not made"));
    }
    ValueId value = *made;
    // One value has one name: what is handed through, or out twice, is copied.
    const bool is_first = std::find(function.outputs.begin(), function.outputs.end(),
                                    function.outputs[i]) == function.outputs.begin() + i;
    if (!is_first || !inner.call->output_names.contains(function.outputs[i])) {
      PLIMSOLL_ASSIGN(value, AddIdentity(value, ValueName(given, site.body), site.body));
    }
    site.body.scope.Define(given, value);
  }
  return {};
}

Result<ValueId> GraphAssembler::AddIdentity(ValueId value, std::string name, const Body& body) {
  PLIMSOLL_ASSIGN(const NodeId id, AddEmptyNode(body));
  PLIMSOLL_ASSIGN(const ValueId copy, AddValue(std::move(name), body.home));
  graph_[copy].producer = id;
  graph::Node& node = graph_[id];
  node.name = StrCat(graph_[copy].name, "/copy");
  node.op = "Identity";
  node.version = OpsetsOf(body).Find("").value_or(kNewestOpset);
  node.inputs = {value};
  node.outputs = {copy};
  graph_[body.home].nodes.push_back(id);
  return copy;
}

std::optional<GraphAssembler::BoundAttribute> GraphAssembler::Bind(const AttributeRecord& record,
                                                                   const Body& body) const {
  if (record.kind != AttributeRecord::Kind::kReference) return BoundAttribute{&record, &body};
  if (body.call == nullptr) return std::nullopt;
  const auto given = body.call->attributes.find(record.reference);
  if (given == body.call->attributes.end()) return std::nullopt;
  return given->second;
}

}  // namespace plimsoll::onnx
