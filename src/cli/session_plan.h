#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/input_shapes.h"
#include "engine/session.h"
#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// What a session will take for its models, before anything runs. Each model is compiled as the
// session would, but no weight is packed.
class SessionPlan {
 public:
  // `load` says how hard to plan; the rest is the configuration's.
  static Result<SessionPlan> Make(const config::RunConfig& config, engine::LoadOptions load);

  // What a run of the model in one thread executes, kernels' workspaces included. Null where it is
  // not known: weights are missing, sizes are open, an operator has no kernel.
  std::shared_ptr<const engine::Executable> Add(graph::Graph graph,
                                                const std::vector<compile::ShapeArgument>& shapes);

  int policy() const;                  // static_memory_policy
  Bytes feature_map_reserved() const;  // once each model has run
  Bytes variables() const;
  bool complete() const { return complete_; }  // every model's feature map is known

 private:
  SessionPlan() = default;
  Result<std::shared_ptr<const engine::Executable>> Compile(
      graph::Graph graph, const std::vector<compile::ShapeArgument>& shapes);

  config::StaticMemoryPolicy policy_ = {};
  std::unique_ptr<engine::Session> session_;
  std::vector<engine::GraphSize> sizes_;
  bool complete_ = true;
};

}  // namespace plimsoll::cli
