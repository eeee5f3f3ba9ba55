#include "kernels/kernel_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/families.h"
#include "kernels/registered_kernels.h"

namespace plimsoll::kernels {
namespace {

using Key = std::pair<std::string_view, std::string_view>;
using Table = std::multimap<Key, const KernelRow*>;

const Table& AllRows() {
  static const Table* const table = [] {
    auto* rows = new Table;
    for (const auto family : cpu::Families()) {
      for (const KernelRow& row : family) rows->emplace(Key(row.domain, row.name), &row);
    }
    return rows;
  }();
  return *table;
}

constexpr Bytes kSmallWorkspace = Bytes(64 << 10);
constexpr Bytes kMediumWorkspace = Bytes(256 << 10);

// A workspace that the site has no room for lies on the stack of the thread that runs.
template <int64_t kMost>
class StackWorkspaceKernel final : public Kernel {
 public:
  explicit StackWorkspaceKernel(KernelPointer kernel) : kernel_(std::move(kernel)) {}

  std::string_view implementation() const override { return kernel_->implementation(); }
  Status Run(const KernelCall& call) const override {
    alignas(64) std::array<std::byte, static_cast<size_t>(kMost)> workspace;
    return kernel_->Run(
        {.inputs = call.inputs, .outputs = call.outputs, .workspace = workspace.data()});
  }

 private:
  KernelPointer kernel_;
};

// The largest workspace for the stack: a small one, or a medium one where the node's tensors are
// so large that it is a small part of them.
Bytes StackRoom(const KernelSite& site) {
  constexpr int64_t kSmallPart = 4;
  Bytes tensors;
  for (const TensorInfo& input : site.inputs) tensors += input.size();
  for (const TensorInfo& output : site.outputs) tensors += output.size();
  return std::clamp(Bytes(tensors.value() / kSmallPart), kSmallWorkspace, kMediumWorkspace);
}

}  // namespace

const KernelRow* FindKernel(std::string_view domain, std::string_view name, int version) {
  const auto [first, last] = AllRows().equal_range(Key(domain, name));
  for (auto row = first; row != last; ++row) {
    if (row->second->since <= version && version <= row->second->until) return row->second;
  }
  return FindRegisteredKernel(domain, name, version);
}

Result<KernelPointer> PrepareKernel(KernelSite& site) {
  const graph::Node& node = site.node();
  const KernelRow* row = FindKernel(node.domain, node.op, node.version);
  if (row == nullptr) return NoKernel(site, HostBackend().name());
  const Bytes most = site.most_workspace;
  const Bytes stack = StackRoom(site);
  site.most_workspace = std::max(most, stack);
  Result<KernelPointer> made = row->make(site);
  site.most_workspace = most;
  if (site.alternatives.trades != nullptr) {
    for (Trade& trade : *site.alternatives.trades) {
      if (trade.workspace > most && trade.workspace <= stack) trade.workspace = Bytes();
    }
  }
  PLIMSOLL_ASSIGN(KernelPointer kernel, std::move(made));
  const Bytes workspace = kernel->workspace();
  if (workspace <= most || workspace > stack) return kernel;
  if (workspace <= kSmallWorkspace) {
    return KernelPointer(
        std::make_unique<const StackWorkspaceKernel<kSmallWorkspace.value()>>(std::move(kernel)));
  }
  return KernelPointer(
      std::make_unique<const StackWorkspaceKernel<kMediumWorkspace.value()>>(std::move(kernel)));
}

}  // namespace plimsoll::kernels
