#include "engine/graph/plain_graph.h"

#include <utility>

#include "compile/plan_model.h"
#include "compile/shapes/shapes.h"

namespace plimsoll::engine {
namespace {

// Constants up to this size may say something about shapes.
constexpr Bytes kSmall(4096);

}  // namespace

PlainGraph::PlainGraph(graph::Graph graph) : graph_(std::move(graph)) {
  for (graph::ConstantTensor& constant : graph_.constants) {
    if (constant.Size() <= kSmall) continue;
    constant.bytes = {};
    constant.storage.reset();
    constant.missing = true;
  }
}

std::optional<Bytes> PlainGraph::Peak(const std::vector<kernels::Dims>& dims) const {
  const Result<graph::Graph> shaped = WithShapes(graph_, dims);
  return shaped.ok() ? std::optional(compile::PlainPeak(*shaped)) : std::nullopt;
}

Result<graph::Graph> WithShapes(graph::Graph graph, const std::vector<kernels::Dims>& dims) {
  const std::vector<graph::ValueId> ports = graph.root().inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    graph::ValueType& type = graph[ports[i]].type;
    if (type.is_tensor()) type.shape = graph::ShapeOf(dims[i]);
  }
  PLIMSOLL_TRY(compile::InferShapes(graph));
  return graph;
}

}  // namespace plimsoll::engine
