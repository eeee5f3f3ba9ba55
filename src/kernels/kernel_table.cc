#include "kernels/kernel_table.h"

#include <map>
#include <vector>

#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

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

}  // namespace

const KernelRow* FindKernel(std::string_view domain, std::string_view name, int version) {
  const auto [first, last] = AllRows().equal_range(Key(domain, name));
  for (auto row = first; row != last; ++row) {
    if (row->second->since <= version && version <= row->second->until) return row->second;
  }
  return nullptr;
}

Result<KernelPointer> PrepareKernel(KernelSite& site) {
  const graph::Node& node = site.node();
  const KernelRow* row = FindKernel(node.domain, node.op, node.version);
  if (row == nullptr) {
    return site.Unsupported(StrCat("there is no CPU kernel for ", graph::OperatorName(node),
                                   " of version ", node.version));
  }
  return row->make(site);
}

}  // namespace plimsoll::kernels
