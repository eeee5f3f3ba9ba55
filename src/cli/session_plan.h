#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/session.h"
#include "graph/graph.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::cli {

// What a session takes for its models, before anything runs: each model is compiled as the session
// would compile it and takes its memory as a run would, from a device of numbers. Weights are
// counted, neither packed nor read where passes do not need them, and may be missing.
class SessionPlan {
 public:
  // As Session::Create takes them, for one that runs.
  static Result<SessionPlan> Make(engine::SessionOptions options);

  struct Model {
    std::shared_ptr<const engine::Executable> executable;  // what a run executes
    std::string reason;                                    // why not, where there is none
    engine::GraphMemory memory;
  };
  // A model that is not run inside a plan has a reason instead: its sizes are known only while it
  // runs, an operator has no kernel. Fails where the arguments or options contradict the model,
  // where it is larger than any device (plan.too_large), and where memory is short.
  Result<Model> Add(graph::Graph graph, const std::vector<engine::VariableName>& variables,
                    std::span<const TensorView> inputs);

  // Why the total is not known; empty: it is. Of the first model that could not be planned.
  const std::string& reason() const { return reason_; }
  engine::SessionMemory memory() const { return session_->Memory(); }

 private:
  SessionPlan() = default;
  Result<Model> Compile(graph::Graph graph, const std::vector<engine::VariableName>& variables,
                        std::span<const TensorView> inputs);

  std::unique_ptr<engine::Session> session_;
  std::string reason_;
};

}  // namespace plimsoll::cli
