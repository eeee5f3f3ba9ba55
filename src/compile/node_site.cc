#include "compile/node_site.h"

#include <optional>

#include "compile/shapes/known_tensor.h"

namespace plimsoll::compile {
namespace {

kernels::TensorInfo InfoOf(const graph::Graph& graph, graph::ValueId id) {
  kernels::TensorInfo info;
  if (!id.valid()) return info;
  const graph::Value& value = graph[id];
  info.type = value.type.data_type;
  info.dims = graph::StaticDims(*value.type.shape);
  if (value.constant.valid()) {
    info.constant = true;
    info.data = graph[value.constant].bytes.data();
    info.assumed = graph[value.constant].missing;
  }
  return info;
}

}  // namespace

NodeSite::NodeSite(const graph::Graph& graph, graph::NodeId id)
    : site_{.graph = graph, .id = id, .inputs = {}, .outputs = {}} {
  const graph::Node& node = graph[id];
  for (const graph::ValueId input : node.inputs) {
    kernels::TensorInfo& info = site_.inputs.emplace_back(InfoOf(graph, input));
    if (!info.present() || info.constant) continue;
    const std::optional<kernels::HostTensor> known = KnownTensor(graph[input]);
    if (!known) continue;
    info.data = known->data.get();
    held_.push_back(*known);
  }
  for (const graph::ValueId output : node.outputs) site_.outputs.push_back(InfoOf(graph, output));
  site_.outputs_cleared = !node.memory.needs_clearing.empty();
}

}  // namespace plimsoll::compile
