#include "cli/session_plan.h"

#include <algorithm>

namespace plimsoll::cli {

Result<SessionPlan> SessionPlan::Make(const config::RunConfig& config, engine::LoadOptions load) {
  engine::SessionOptions options;
  options.config = config;
  options.config.external_weight = false;
  options.load = std::move(load);
  options.load.pack_weights = false;
  SessionPlan plan;
  plan.policy_ = config.memory_config.static_memory_policy;
  PLIMSOLL_ASSIGN(plan.session_, engine::Session::Create(options));
  return plan;
}

std::shared_ptr<const engine::Executable> SessionPlan::Add(
    graph::Graph graph, const std::vector<compile::ShapeArgument>& shapes) {
  const bool missing = std::any_of(graph.constants.begin(), graph.constants.end(),
                                   [](const auto& constant) { return constant.missing; });
  if (!missing) {
    if (const auto executable = Compile(std::move(graph), shapes); executable.ok()) {
      return *executable;
    }
  }
  complete_ = false;
  return nullptr;
}

Result<std::shared_ptr<const engine::Executable>> SessionPlan::Compile(
    graph::Graph graph, const std::vector<compile::ShapeArgument>& shapes) {
  graph::Graph shaped = graph;
  PLIMSOLL_TRY(compile::GiveInputShapes(shaped, shapes).status());
  PLIMSOLL_ASSIGN(const engine::GraphId id, session_->Add(std::move(graph)));
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, session_->Inputs(id));
  std::vector<engine::Tensor> inputs;
  for (const engine::Port& port : ports) {
    engine::Tensor& input = inputs.emplace_back();
    for (const graph::ValueId value : shaped.root().inputs) {
      const graph::ValueType& type = shaped[value].type;
      if (shaped[value].name != port.name || !type.is_tensor()) continue;
      input.type = type.data_type;
      if (type.shape && graph::IsStatic(*type.shape)) input.dims = graph::StaticDims(*type.shape);
    }
  }
  std::string reason;
  PLIMSOLL_ASSIGN(const auto executable, session_->Compile(id, inputs, &reason));
  if (executable == nullptr) {
    return Error{ErrorKind::kUnsupported, "plan.dynamic", "not planned", "", reason, ""};
  }
  PLIMSOLL_ASSIGN(const engine::GraphShapes kind, session_->Shapes(id));
  const engine::Program& program = executable->program();
  engine::GraphSize& size = sizes_.emplace_back(engine::GraphSize{kind, program.arena, Bytes(0)});
  for (const engine::Area& area : program.areas) {
    size.beside += engine::ReservedFor(area, engine::kSessionGranularity);
  }
  return executable;
}

int SessionPlan::policy() const { return static_cast<int>(policy_); }

Bytes SessionPlan::feature_map_reserved() const {
  return engine::ReservedFor(policy_, sizes_, engine::kSessionGranularity);
}

Bytes SessionPlan::variables() const { return session_->Memory().variables; }

}  // namespace plimsoll::cli
