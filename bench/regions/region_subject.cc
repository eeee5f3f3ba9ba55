#include "region_subject.h"

#include <iostream>

#include "cli/inputs/model_inputs.h"
#include "cli/peer/run_measure.h"
#include "engine/api/port_tensors.h"
#include "onnx/model_reader.h"
#include "plimsoll/base/text.h"

namespace plimsoll {

Result<RegionSubject> RegionSubject::Make(const std::string& file, int threads,
                                          const std::vector<std::string>& shapes) {
  RegionSubject subject;
  std::vector<compile::ShapeArgument> given;
  for (const std::string& word : shapes) {
    PLIMSOLL_ASSIGN(compile::ShapeArgument shape, compile::ParseShapeArgument(word));
    given.push_back(std::move(shape));
  }
  PLIMSOLL_ASSIGN(graph::Graph graph, onnx::ReadModel(file));
  PLIMSOLL_ASSIGN(subject.inputs_, cli::MakeInputs(graph, {}, given));
  engine::SessionOptions options;
  options.threads = threads;
  PLIMSOLL_ASSIGN(subject.session_, engine::Session::Create(options));
  PLIMSOLL_ASSIGN(const engine::GraphId id, subject.session_->Add(std::move(graph)));
  const std::vector<TensorView> views = cli::TensorsOf(subject.inputs_);
  std::string reason;
  PLIMSOLL_ASSIGN(subject.executable_, subject.session_->Compile(id, views, &reason));
  if (subject.executable_ == nullptr)
    return engine::BadArgument("bench.model", "MODEL", reason, "");
  PLIMSOLL_ASSIGN(const std::vector<engine::Port> ports, subject.session_->Outputs(id));
  PLIMSOLL_ASSIGN(subject.outputs_, engine::MakeOutputs(*subject.executable_, ports, ""));
  constexpr auto kAlignment = static_cast<size_t>(4096);
  const auto size = static_cast<size_t>(subject.program().total().value());
  subject.memory_.resize(size + kAlignment);
  auto* const base = subject.memory_.data();
  subject.arena_ = base + (kAlignment - reinterpret_cast<uintptr_t>(base) % kAlignment);
  for (const auto& input : subject.inputs_) subject.read_.push_back(input.tensor.data.get());
  for (const auto& output : subject.outputs_) subject.written_.push_back(output.data.get());
  return subject;
}

std::string RegionSubject::NameOf(const engine::Task& task) const {
  if (task.kind != engine::Task::Kind::kRun) return "other tasks";
  const graph::Node& node = executable_->model().graph[task.node];
  return StrCat(node.op, " ", task.kernel->implementation());
}

engine::Executable::Call RegionSubject::CallNow() { return {.inputs = read_, .outputs = written_}; }

Status RegionSubject::RunOneByOne(kernels::RegionRunner& runner,
                                  const std::function<void(int64_t task)>& before) {
  auto addresses = executable_->Bind(arena_, engine::AreasBehind(program(), arena_));
  const kernels::RegionRunnerScope scope(runner);
  return executable_->Run(addresses, CallNow(), [&](const engine::Task& task) {
    before(&task - program().tasks.data());
  });
}

Status RegionSubject::Run(kernels::RegionRunner& runner, std::atomic<int64_t>& task) {
  auto addresses = executable_->Bind(arena_, engine::AreasBehind(program(), arena_));
  const kernels::RegionRunnerScope scope(runner);
  engine::Executable::Call call = CallNow();
  call.task = &task;
  return executable_->Run(addresses, call);
}

int Finish(const Status& done) {
  if (done.ok()) return 0;
  std::cerr << done.error().Text() << "\n";
  return 1;
}

}  // namespace plimsoll
