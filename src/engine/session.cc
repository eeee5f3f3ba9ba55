#include "engine/session.h"

#include "kernels/parallel.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/registry.h"

namespace plimsoll::engine {

using kernels::HostValue;

Session::Session(const SessionOptions& options, std::shared_ptr<device::Device> device)
    : options_(options), device_(std::move(device)) {}

Result<std::unique_ptr<Session>> Session::Create(const SessionOptions& options) {
  std::shared_ptr<device::Device> device = options.device;
  if (device == nullptr) {
    PLIMSOLL_ASSIGN(device, device::MakeDevice("cpu"));
  }
  return std::unique_ptr<Session>(new Session(options, std::move(device)));
}

Result<std::shared_ptr<LoadedGraph>> Session::Find(GraphId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(id);
  if (found != graphs_.end()) return found->second;
  return Error{.kind = ErrorKind::kUsage,
               .code = "session.graph",
               .what = "no such graph",
               .where = id.valid() ? StrCat("graph ", id.index()) : "graph",
               .why = StrCat("the session holds ", graphs_.size(), " graphs, and not this one"),
               .remedy = "use an id that Add gave and Unload has not taken back"};
}

Result<GraphId> Session::Add(graph::Graph graph) {
  kernels::SetThreads(options_.threads);
  PLIMSOLL_ASSIGN(std::shared_ptr<LoadedGraph> loaded,
                  LoadedGraph::Load(std::move(graph), options_.load, *device_, device_->Current()));
  const std::lock_guard lock(mutex_);
  const GraphId id(next_++);
  graphs_.emplace(id, std::move(loaded));
  return id;
}

Result<std::shared_ptr<const Executable>> Session::Compile(GraphId id,
                                                           std::span<const Tensor> inputs,
                                                           std::string* reason) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  kernels::SetThreads(options_.threads);
  return graph->Compile(inputs, reason);
}

Status Session::Run(GraphId id, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                    const RunOptions& options) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  kernels::SetThreads(options_.threads);
  return graph->Run(inputs, outputs, options.cancelled);
}

Result<std::vector<HostValue>> Session::RunValues(GraphId id, std::vector<HostValue> inputs,
                                                  const RunOptions& options) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  kernels::SetThreads(options_.threads);
  return graph->RunValues(std::move(inputs), options.cancelled);
}

Status Session::Unload(GraphId id) {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  const std::lock_guard lock(mutex_);
  graphs_.erase(id);
  return {};
}

Result<std::vector<Port>> Session::Inputs(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->inputs();
}

Result<std::vector<Port>> Session::Outputs(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->outputs();
}

Result<GraphMemory> Session::Memory(GraphId id) const {
  PLIMSOLL_ASSIGN(const auto graph, Find(id));
  return graph->memory();
}

}  // namespace plimsoll::engine
