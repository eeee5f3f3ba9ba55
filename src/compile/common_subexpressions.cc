#include "compile/common_subexpressions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "compile/rewriter.h"
#include "graph/operator_row.h"
#include "kernels/catalogue.h"
#include "plimsoll/base/text.h"

namespace plimsoll::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::SubgraphId;
using graph::ValueId;

// Comparing larger tensors costs more than their repetition does.
constexpr int64_t kComparedBytes = 1024;

// Texts that are equal exactly when what they stand for is. Every part carries its length or ends
// with a separator that it cannot contain.
void AppendText(std::string& key, std::string_view text) {
  key += StrCat(text.size(), ":");
  key += text;
}

void AppendBytes(std::string& key, const void* data, size_t size) {
  AppendText(key, {static_cast<const char*>(data), size});
}

bool AppendTensor(std::string& key, const graph::ConstantTensor& tensor) {
  if (tensor.missing || tensor.Size().value() > kComparedBytes ||
      static_cast<int64_t>(tensor.strings.size()) > kComparedBytes) {
    return false;
  }
  AppendText(key, graph::Name(tensor.type));
  AppendText(key, Join(tensor.dims, ","));
  AppendBytes(key, tensor.bytes.data(), tensor.bytes.size());
  for (const std::string_view text : tensor.strings) AppendText(key, text);
  return true;
}

// False for attributes that two nodes cannot be seen to share: bodies, lists of tensors.
struct AppendAttribute {
  std::string& key;

  bool operator()(int64_t number) const { return Bytes(&number, sizeof(number)); }
  bool operator()(double number) const { return Bytes(&number, sizeof(number)); }
  bool operator()(const std::string& text) const { return Bytes(text.data(), text.size()); }
  bool operator()(const std::vector<int64_t>& list) const {
    return Bytes(list.data(), list.size() * sizeof(int64_t));
  }
  bool operator()(const std::vector<double>& list) const {
    return Bytes(list.data(), list.size() * sizeof(double));
  }
  bool operator()(const std::vector<std::string>& list) const {
    for (const std::string& text : list) AppendText(key, text);
    return true;
  }
  bool operator()(const graph::ConstantTensor& tensor) const { return AppendTensor(key, tensor); }
  bool operator()(const std::vector<graph::ConstantTensor>&) const { return false; }
  bool operator()(SubgraphId) const { return false; }
  bool operator()(const std::vector<SubgraphId>&) const { return false; }
  bool operator()(const graph::ValueType& type) const {
    AppendText(key, Text(type));
    return true;
  }

  bool Bytes(const void* data, size_t size) const {
    AppendBytes(key, data, size);
    return true;
  }
};

std::optional<std::string> KeyOf(const Node& node) {
  const bool known = graph::FindOperator(node.domain, node.op, node.version) != nullptr;
  if (!known || !MayRewrite(node) || !kernels::IsDeterministic(node)) return std::nullopt;
  std::string key;
  AppendText(key, node.domain);
  AppendText(key, node.op);
  key += StrCat(node.version, ";");
  for (const ValueId input : node.inputs) {
    key += input.valid() ? StrCat(input.index(), ",") : "-,";
  }
  for (const ValueId output : node.outputs) key += output.valid() ? "o" : "-";
  std::map<std::string_view, const graph::Attribute*> attributes;
  for (const auto& [name, attribute] : node.attributes) attributes[name] = &attribute;
  for (const auto& [name, attribute] : attributes) {
    AppendText(key, name);
    key += StrCat(attribute->index(), ";");
    if (!std::visit(AppendAttribute{key}, *attribute)) return std::nullopt;
  }
  return key;
}

// Vectors of floats are weights, or worked out of weights, and are not compared: so a plan comes to
// the same where the file of the weights is missing.
int MergeConstants(Rewriter& rewriter) {
  Graph& graph = rewriter.graph();
  std::map<std::string, ValueId> first;
  int merged = 0;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const ValueId id(i);
    if (!graph[id].constant.valid() || graph[id].home != Graph::kRoot) continue;
    if (rewriter.readers(id).empty() || rewriter.IsOutput(id)) continue;
    std::string key;
    const graph::ConstantTensor& constant = graph[graph[id].constant];
    const bool weights = graph::IsFloating(constant.type) && constant.ElementCount() > 1;
    if (weights || !AppendTensor(key, constant)) continue;
    const auto [known, is_new] = first.emplace(std::move(key), id);
    if (is_new) continue;
    rewriter.ReplaceUses(id, known->second);
    ++merged;
  }
  return merged;
}

bool Merge(Rewriter& rewriter, NodeId id, NodeId same) {
  Graph& graph = rewriter.graph();
  const std::vector<ValueId> outputs = graph[id].outputs;
  const auto returned = [&](ValueId value) { return value.valid() && rewriter.IsOutput(value); };
  // Half a merge would be wrong: two outputs of which one cannot be replaced.
  if (outputs.size() > 1 && std::any_of(outputs.begin(), outputs.end(), returned)) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].valid() && !rewriter.StandIn(outputs[i], graph[same].outputs[i])) return false;
  }
  rewriter.Drop(id);
  return true;
}

int MergeBody(Rewriter& rewriter, SubgraphId body) {
  const Graph& graph = rewriter.graph();
  std::map<std::string, NodeId> first;
  int merged = 0;
  for (const NodeId id : rewriter.NodesOf(body)) {
    for (const SubgraphId inner : SubgraphsOf(graph[id])) merged += MergeBody(rewriter, inner);
    std::optional<std::string> key = KeyOf(graph[id]);
    if (!key) continue;
    const auto [known, is_new] = first.emplace(*std::move(key), id);
    if (!is_new && Merge(rewriter, id, known->second)) ++merged;
  }
  return merged;
}

}  // namespace

int MergeCommonSubexpressions(Graph& graph) {
  Rewriter rewriter(graph);
  const int constants = MergeConstants(rewriter);
  return constants + MergeBody(rewriter, Graph::kRoot);
}

}  // namespace plimsoll::compile
