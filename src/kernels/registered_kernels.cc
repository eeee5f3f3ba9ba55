#include "kernels/registered_kernels.h"

#include <deque>
#include <mutex>
#include <shared_mutex>

namespace plimsoll::kernels {
namespace {

struct RegisteredKernel {
  std::string domain;
  std::string name;
  KernelRow row;
  std::function<Result<KernelPointer>(KernelSite& site)> make;
};

struct RegisteredTable {
  std::shared_mutex mutex;
  std::deque<RegisteredKernel> kernels;  // addresses stay
};

RegisteredTable& Registered() {
  static RegisteredTable table;
  return table;
}

const RegisteredKernel* FindRegistered(std::string_view domain, std::string_view name,
                                       int version) {
  RegisteredTable& table = Registered();
  const std::shared_lock lock(table.mutex);
  for (const RegisteredKernel& kernel : table.kernels) {
    if (kernel.domain == domain && kernel.name == name && kernel.row.since <= version &&
        version <= kernel.row.until) {
      return &kernel;
    }
  }
  return nullptr;
}

Result<KernelPointer> MakeRegistered(KernelSite& site) {
  const graph::Node& node = site.node();
  return FindRegistered(node.domain, node.op, node.version)->make(site);
}

}  // namespace

void RegisterKernel(std::string domain, std::string name, int since, int until,
                    std::function<Result<KernelPointer>(KernelSite& site)> make) {
  RegisteredTable& table = Registered();
  const std::unique_lock lock(table.mutex);
  RegisteredKernel& kept = table.kernels.emplace_back();
  kept.domain = std::move(domain);
  kept.name = std::move(name);
  kept.make = std::move(make);
  kept.row = {.domain = kept.domain,
              .name = kept.name,
              .since = since,
              .until = until,
              .make = MakeRegistered};
}

const KernelRow* FindRegisteredKernel(std::string_view domain, std::string_view name, int version) {
  const RegisteredKernel* found = FindRegistered(domain, name, version);
  return found == nullptr ? nullptr : &found->row;
}

}  // namespace plimsoll::kernels
