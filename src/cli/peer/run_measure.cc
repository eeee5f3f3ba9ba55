#include "cli/peer/run_measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "cli/peer/heap_calls.h"
#include "engine/api/port_tensors.h"

namespace plimsoll::cli {
namespace {

using kernels::HostTensor;
using kernels::HostValue;

bool IsPlainTensor(const HostValue& value) {
  return value.kind == HostValue::Kind::kTensor && value.tensor.type != graph::DataType::kString;
}

}  // namespace

std::vector<TensorView> TensorsOf(const std::vector<HostValue>& values) {
  std::vector<TensorView> tensors;
  for (const HostValue& value : values) {
    tensors.push_back(value.tensor.View());
  }
  return tensors;
}

Bytes BytesOf(const std::vector<HostValue>& values) {
  Bytes bytes;
  for (const HostValue& value : values) {
    if (value.kind == HostValue::Kind::kTensor) bytes += value.tensor.size();
  }
  return bytes;
}

Bytes ModelRunner::CallersBytes() const { return BytesOf(inputs_) + BytesOf(outputs_); }

Result<ModelRunner> ModelRunner::Make(engine::Session& session, engine::GraphId id,
                                      std::vector<HostValue> inputs, const std::string& batch) {
  ModelRunner runner;
  runner.session_ = &session;
  runner.id_ = id;
  runner.inputs_ = std::move(inputs);
  runner.read_ = TensorsOf(runner.inputs_);
  PLIMSOLL_ASSIGN(runner.run_.batch, session.BatchFor(id, runner.read_, batch));
  if (!std::all_of(runner.inputs_.begin(), runner.inputs_.end(), IsPlainTensor)) {
    runner.reason_ = "an input is no plain tensor";
    return runner;
  }
  PLIMSOLL_ASSIGN(runner.executable_, session.Compile(id, runner.read_, &runner.reason_));
  if (runner.planned()) PLIMSOLL_TRY(runner.MakeOutputs());
  if (runner.planned()) PLIMSOLL_TRY(runner.MakeScratch());
  return runner;
}

// Inputs that are lent to the plan are overwritten, so each run is given a copy.
Status ModelRunner::MakeScratch() {
  const auto& lent = executable_->model().planned.buffers.lent;
  const bool overwritten = std::any_of(
      lent.begin(), lent.end(), [](const auto& one) { return one.home == compile::Home::kInput; });
  if (!overwritten) return {};
  for (TensorView& tensor : read_) {
    PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(tensor.type, tensor.dims));
    tensor.data = copy.data.get();
    scratch_.push_back(std::move(copy));
  }
  return {};
}

void ModelRunner::RestoreInputs() {
  for (size_t i = 0; i < scratch_.size(); ++i) {
    std::memcpy(scratch_[i].data.get(), inputs_[i].tensor.data.get(),
                static_cast<size_t>(scratch_[i].size().value()));
  }
}

Status ModelRunner::FollowVariables() {
  const std::vector<engine::Variable> variables = session_->variables().List();
  const bool grow = std::any_of(variables.begin(), variables.end(), [](const auto& variable) {
    return variable.growth_axis.has_value();
  });
  if (!grow || !planned()) return {};
  PLIMSOLL_ASSIGN(executable_, session_->Compile(id_, read_, &reason_));
  return planned() ? MakeOutputs() : Status();
}

Status ModelRunner::MakeOutputs() {
  outputs_.clear();
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, session_->Outputs(id_));
  PLIMSOLL_ASSIGN(std::vector<HostTensor> made, engine::MakeOutputs(*executable_, ports, batch()));
  for (HostTensor& output : made) {
    const bool absent = output.type == graph::DataType::kUndefined;
    outputs_.push_back(absent ? HostValue() : HostValue::Of(std::move(output)));
  }
  written_ = TensorsOf(outputs_);
  return {};
}

Status ModelRunner::RunOnce() {
  RestoreInputs();
  const auto begin = std::chrono::steady_clock::now();
  PLIMSOLL_TRY(FollowVariables());
  const int64_t calls = HeapCalls();
  if (planned()) {
    PLIMSOLL_TRY(session_->Run(id_, read_, written_, run_));
  } else {
    PLIMSOLL_ASSIGN(outputs_, session_->RunValues(id_, inputs_, run_));
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  heap_calls_ = calls < 0 ? -1 : HeapCalls() - calls;
  latency_ms_.push_back(took.count());
  return {};
}

Status ModelRunner::KeepVariables() {
  kept_.clear();
  if (!planned()) return {};
  const graph::Graph& compiled = executable_->model().graph;
  for (const engine::Variable& variable : session_->variables().List()) {
    const auto& inputs = compiled.root().inputs;
    const bool read = std::any_of(inputs.begin(), inputs.end(), [&](graph::ValueId input) {
      return compiled[input].name == variable.name;
    });
    if (!read) continue;
    PLIMSOLL_ASSIGN(HostTensor copy, kernels::AllocateOnHeap(variable.type, variable.most));
    PLIMSOLL_TRY(
        session_->variables().Get(variable.name, {variable.type, variable.dims, copy.data.get()}));
    kept_.emplace(variable.name, std::move(copy));
  }
  return {};
}

Result<engine::PoisonedRun> ModelRunner::Observe() {
  RestoreInputs();
  if (kept_.empty()) {
    // The outputs of the last run stay.
    const std::vector<HostValue> last = outputs_;
    PLIMSOLL_TRY(FollowVariables());
    PLIMSOLL_TRY(KeepVariables());
    outputs_ = last;
  }
  const graph::Graph& compiled = executable_->model().graph;
  std::vector<const void*> from;
  std::vector<void*> to;
  size_t given = 0;
  for (const graph::ValueId input : compiled.root().inputs) {
    const bool is_given = read_.size() == compiled.root().inputs.size();
    const auto variable = is_given ? kept_.end() : kept_.find(compiled[input].name);
    from.push_back(variable == kept_.end() ? read_[given++].data : variable->second.data.get());
  }
  std::vector<HostTensor> made;  // next to the outputs of the last run, which stay
  size_t written = 0;
  for (const bool replaces : engine::ReplacesVariable(*executable_)) {
    const TensorView output = replaces ? TensorView() : written_[written++];
    if (output.data == nullptr) {
      to.push_back(nullptr);
      continue;
    }
    PLIMSOLL_ASSIGN(HostTensor own, kernels::AllocateOnHeap(output.type, output.dims));
    to.push_back(own.data.get());
    made.push_back(std::move(own));
  }
  auto observed = engine::RunPoisoned(
      *executable_,
      {.inputs = from, .outputs = to, .batch = executable_->program().BatchNamed(batch())});
  kept_.clear();
  return observed;
}

bool EnoughFor(double share, size_t values) {
  constexpr double kRounding = 1e-9;
  const double needed = share <= 0.5 ? 1 : 1 / (1 - share);
  return static_cast<double>(values) >= needed - kRounding;
}

double Percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = std::ceil(share * static_cast<double>(values.size())) - 1;
  return values[static_cast<size_t>(std::max(place, 0.0))];
}

}  // namespace plimsoll::cli
