#include "cli/session_plan.h"

#include <algorithm>

#include "plimsoll/base/text.h"

namespace plimsoll::cli {
namespace {

// A device of numbers has more memory than devices have.
Error LargerThanAnyDevice(const Error& refused) {
  return Error{.kind = ErrorKind::kDoesNotFit,
               .code = "plan.too_large",
               .what = "the model is larger than any device",
               .where = {},
               .why = StrCat("planning ran ", refused.what),
               .remedy = "give smaller sizes with --shape"};
}

}  // namespace

Result<SessionPlan> SessionPlan::Make(engine::SessionOptions options) {
  options.load.only_plan = true;
  SessionPlan plan;
  PLIMSOLL_ASSIGN(plan.session_, engine::Session::Create(options));
  return plan;
}

Result<SessionPlan::Model> SessionPlan::Add(graph::Graph graph,
                                            const std::vector<engine::VariableName>& variables,
                                            std::span<const TensorView> inputs) {
  auto model = Compile(std::move(graph), variables, inputs);
  if (!model.ok()) {
    const Error& error = model.error();
    if (error.kind == ErrorKind::kUsage || error.kind == ErrorKind::kRunFailed) return error;
    if (error.code == "memory.out_of_memory") return LargerThanAnyDevice(error);
    Model without;
    without.reason =
        StrCat(error.what, error.where.empty() ? "" : StrCat(", ", error.where), ": ", error.why);
    model = std::move(without);
  }
  if (reason_.empty()) reason_ = model->reason;
  return model;
}

Result<SessionPlan::Model> SessionPlan::Compile(graph::Graph graph,
                                                const std::vector<engine::VariableName>& variables,
                                                std::span<const TensorView> inputs) {
  Model model;
  PLIMSOLL_ASSIGN(const engine::GraphId id, session_->Add(std::move(graph), variables));
  const bool plain = std::all_of(inputs.begin(), inputs.end(), [](const TensorView& input) {
    return input.type != graph::DataType::kUndefined && input.type != graph::DataType::kString;
  });
  if (!plain) {
    model.reason = "an input is no plain tensor";
    return model;
  }
  PLIMSOLL_ASSIGN(model.executable, session_->Compile(id, inputs, &model.reason));
  if (model.executable != nullptr) PLIMSOLL_TRY(session_->Reserve(id, inputs));
  PLIMSOLL_ASSIGN(model.memory, session_->Memory(id));
  return model;
}

}  // namespace plimsoll::cli
