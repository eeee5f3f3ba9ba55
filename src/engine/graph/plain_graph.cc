#include "engine/graph/plain_graph.h"

#include <utility>

#include "compile/plan_model.h"
#include "compile/shapes/shapes.h"

namespace plimsoll::engine {
namespace {

// Constants up to this size may say something about shapes.
constexpr Bytes kSmall(4096);

Status SetShapes(graph::Graph& graph, const std::vector<kernels::Dims>& dims) {
  const std::vector<graph::ValueId>& ports = graph.root().inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    graph::ValueType& type = graph[ports[i]].type;
    if (type.is_tensor()) type.shape = graph::ShapeOf(dims[i]);
  }
  return compile::InferShapes(graph);
}

}  // namespace

PlainGraph::PlainGraph(graph::Graph graph) : graph_(std::move(graph)) {
  for (graph::ConstantTensor& constant : graph_.constants) {
    if (constant.Size() <= kSmall) continue;
    constant.bytes = {};
    constant.storage.reset();
    constant.missing = true;
  }
}

std::optional<Bytes> PlainGraph::Peak(const std::vector<kernels::Dims>& dims) {
  // Inference takes branches out that shapes make impossible.
  std::optional<graph::Graph> copy;
  if (graph_.subgraphs.size() > 1) copy = graph_;
  graph::Graph& shaped = copy ? *copy : graph_;
  if (!SetShapes(shaped, dims).ok()) return std::nullopt;
  return compile::PlainPeak(shaped);
}

Result<graph::Graph> WithShapes(graph::Graph graph, const std::vector<kernels::Dims>& dims) {
  PLIMSOLL_TRY(SetShapes(graph, dims));
  return graph;
}

}  // namespace plimsoll::engine
