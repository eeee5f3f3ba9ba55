#include "kernels/backend.h"

#include <map>
#include <mutex>
#include <utility>

#include "graph/operator_row.h"
#include "kernels/blocking.h"
#include "kernels/kernel_table.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels {
namespace {

// What is in kernels/cpu, and kernels that the program brings along.
class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  bool HasOperator(std::string_view domain, std::string_view name, int version) const override {
    return FindKernel(domain, name, version) != nullptr;
  }
  Result<KernelPointer> Prepare(KernelSite& site) const override { return PrepareKernel(site); }
  bool GrowsOverFirstInput(const graph::Graph& graph, graph::NodeId node) const override {
    return graph::FactsOf(graph[node]).grows_over_first_input;
  }
  int channels_together() const override { return BlockSize(); }
  bool works_in_float32() const override { return true; }
};

struct BackendTable {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<const Backend>, std::less<>> of_kind;
};

BackendTable& Backends() {
  static auto* const table = new BackendTable;
  return *table;
}

// Devices that are the processor under another name.
bool IsProcessor(std::string_view kind) { return kind == "cpu" || kind == "far" || kind == "fake"; }

}  // namespace

bool Backend::Supports(const graph::Graph& graph, graph::NodeId id) const {
  const graph::Node& node = graph[id];
  return HasOperator(node.domain, node.op, node.version);
}

std::vector<InPlacePair> Backend::InPlacePairs(const graph::Graph& graph,
                                               graph::NodeId node) const {
  return kernels::InPlacePairs(graph, node);
}

const Backend& HostBackend() {
  static const CpuBackend cpu;
  return cpu;
}

const Backend& BackendFor(std::string_view device_kind) {
  BackendTable& table = Backends();
  const std::lock_guard lock(table.mutex);
  const auto found = table.of_kind.find(device_kind);
  return found == table.of_kind.end() ? HostBackend() : *found->second;
}

Status RegisterBackend(std::string device_kind, std::unique_ptr<const Backend> backend) {
  BackendTable& table = Backends();
  const std::lock_guard lock(table.mutex);
  const bool taken = IsProcessor(device_kind) || table.of_kind.contains(device_kind);
  if (taken || device_kind.empty() || backend == nullptr) {
    return Error{.kind = ErrorKind::kUsage,
                 .code = "kernel.backend",
                 .what = "cannot register the backend",
                 .where = StrCat("device kind \"", device_kind, "\""),
                 .why = taken ? "it has a backend" : "a backend belongs to a kind with a name",
                 .remedy = "register one backend for a kind of your own"};
  }
  table.of_kind.emplace(std::move(device_kind), std::move(backend));
  return {};
}

Error NoKernel(const KernelSite& site, std::string_view backend) {
  Error error = site.Unsupported(StrCat("backend \"", backend, "\" has no kernel for ",
                                        graph::OperatorName(site.node()), " of version ",
                                        site.node().version));
  error.remedy = "export the model with operators that it has, or register a kernel for this one";
  return error;
}

}  // namespace plimsoll::kernels
