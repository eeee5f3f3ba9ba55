#include "plimsoll/engine/model.h"

#include <algorithm>
#include <set>

#include "engine/api/model_parts.h"
#include "kernels/backend.h"
#include "kernels/host_value.h"
#include "onnx/model_reader.h"

namespace plimsoll {
namespace {

// What the file declares, where our rules have not worked it out.
PortInfo PortOf(const graph::Value& value) {
  const bool known = value.type.kind != ValueKind::kUnknown;
  return MakePortInfo(value.name, known ? value.type : value.declared);
}

bool HasKernel(const graph::Node& node) {
  if (!SubgraphsOf(node).empty()) return true;  // control flow is the engine's
  return kernels::HostBackend().HasOperator(node.domain, node.op, node.version) ||
         kernels::FindHostOperator(node.domain, node.op, node.version) != nullptr;
}

ModelInfo InfoOf(const graph::Graph& graph) {
  ModelInfo info;
  for (const graph::ValueId id : graph.root().inputs) {
    info.inputs.push_back(PortOf(graph[id]));
    graph::ValueType type = graph[id].type;
    graph::ForEachDim(type, [&](Dim& dim) {
      if (!dim.is_anonymous()) dim.CollectSymbols(info.symbols);
    });
  }
  for (const graph::ValueId id : graph.root().outputs) info.outputs.push_back(PortOf(graph[id]));
  std::set<std::string> unsupported;
  for (const graph::Node& node : graph.nodes) {
    ++info.operators[OperatorName(node)];
    if (!HasKernel(node)) unsupported.insert(OperatorName(node));
  }
  info.unsupported.assign(unsupported.begin(), unsupported.end());
  std::set<std::string> missing;
  for (const graph::ConstantTensor& constant : graph.constants) {
    info.weight_bytes += constant.Size();
    if (constant.missing) missing.insert(constant.external_file);
  }
  info.missing_files.assign(missing.begin(), missing.end());
  info.nodes = graph.nodes.size();
  info.weights = graph.constants.size();
  info.opsets.insert(graph.opsets.begin(), graph.opsets.end());
  info.metadata.insert(graph.metadata.begin(), graph.metadata.end());
  info.ir_version = graph.ir_version;
  info.producer = graph.producer;
  return info;
}

}  // namespace

PortInfo MakePortInfo(std::string name, const graph::ValueType& type, std::string batch) {
  return {.name = std::move(name),
          .kind = type.kind,
          .type = type.is_tensor() ? type.data_type : DataType::kUndefined,
          .shape = type.shape,
          .text = Text(type),
          .batch = std::move(batch)};
}

Result<Model> Model::Open(const std::string& path) {
  auto parts = std::make_shared<Parts>();
  if (engine::CompiledFile::IsOne(path)) {
    PLIMSOLL_ASSIGN(parts->compiled, engine::CompiledFile::Open(path));
    PLIMSOLL_ASSIGN(parts->graph, parts->compiled->ReadGraph());
  } else {
    PLIMSOLL_ASSIGN(parts->graph, onnx::ReadModel(path));
  }
  parts->info = InfoOf(parts->graph);
  return Model(std::move(parts));
}

Result<Model> Model::FromBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                               const std::string& folder) {
  auto parts = std::make_shared<Parts>();
  PLIMSOLL_ASSIGN(parts->graph, onnx::ReadModelBytes(bytes, std::move(owner), folder));
  parts->info = InfoOf(parts->graph);
  return Model(std::move(parts));
}

const ModelInfo& Model::info() const { return parts_->info; }

}  // namespace plimsoll
