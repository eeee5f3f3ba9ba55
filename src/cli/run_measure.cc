#include "cli/run_measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/heap_calls.h"

namespace plimsoll::cli {
namespace {

using engine::Tensor;
using kernels::HostTensor;
using kernels::HostValue;

std::vector<Tensor> TensorsOf(const std::vector<HostValue>& values) {
  std::vector<Tensor> tensors;
  for (const HostValue& value : values) {
    tensors.push_back({value.tensor.type, value.tensor.dims, value.tensor.data.get()});
  }
  return tensors;
}

bool IsPlainTensor(const HostValue& value) {
  return value.kind == HostValue::Kind::kTensor && value.tensor.type != graph::DataType::kString;
}

}  // namespace

Result<ModelRunner> ModelRunner::Make(engine::Session& session, engine::GraphId id,
                                      std::vector<HostValue> inputs) {
  ModelRunner runner;
  runner.session_ = &session;
  runner.id_ = id;
  runner.inputs_ = std::move(inputs);
  runner.read_ = TensorsOf(runner.inputs_);
  if (!std::all_of(runner.inputs_.begin(), runner.inputs_.end(), IsPlainTensor)) {
    runner.reason_ = "an input is no plain tensor";
    return runner;
  }
  PLIMSOLL_ASSIGN(runner.executable_, session.Compile(id, runner.read_, &runner.reason_));
  if (runner.planned()) PLIMSOLL_TRY(runner.MakeOutputs());
  return runner;
}

Status ModelRunner::MakeOutputs() {
  const graph::Graph& compiled = executable_->model().graph;
  for (const graph::ValueId output : compiled.root().outputs) {
    const graph::ValueType& type = compiled[output].type;
    PLIMSOLL_ASSIGN(HostTensor tensor,
                    kernels::AllocateOnHeap(type.data_type, graph::StaticDims(*type.shape)));
    outputs_.push_back(HostValue::Of(std::move(tensor)));
  }
  written_ = TensorsOf(outputs_);
  return {};
}

Status ModelRunner::RunOnce() {
  const int64_t calls = HeapCalls();
  const auto begin = std::chrono::steady_clock::now();
  if (planned()) {
    PLIMSOLL_TRY(session_->Run(id_, read_, written_));
  } else {
    PLIMSOLL_ASSIGN(outputs_, session_->RunValues(id_, inputs_));
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  heap_calls_ = calls < 0 ? -1 : HeapCalls() - calls;
  latency_ms_.push_back(took.count());
  return {};
}

Result<engine::PoisonedRun> ModelRunner::Observe() {
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const Tensor& tensor : read_) from.push_back(tensor.data);
  for (const Tensor& tensor : written_) to.push_back(tensor.data);
  return engine::RunPoisoned(*executable_, {.inputs = from, .outputs = to});
}

double Percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = std::ceil(share * static_cast<double>(values.size())) - 1;
  return values[static_cast<size_t>(std::max(place, 0.0))];
}

}  // namespace plimsoll::cli
