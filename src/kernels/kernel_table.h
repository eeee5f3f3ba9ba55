#pragma once

#include <span>
#include <string_view>

#include "graph/operator_row.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels {

// Prepares a kernel for a site. Shapes are known, save for outputs that are not `sized`: those the
// maker fills in, from the data that it is given then. Fails with site.Unsupported for types or
// attributes that have no kernel, with site.BadInput for what cannot be right.
using KernelMaker = Result<KernelPointer> (*)(KernelSite& site);

// One operator of one range of versions on the CPU. Tables live in kernels/cpu/, one file per
// family.
struct KernelRow {
  std::string_view domain;
  std::string_view name;
  int since = 1;
  int until = graph::kNewest;
  KernelMaker make = nullptr;
};

const KernelRow* FindKernel(std::string_view domain, std::string_view name, int version);

// The kernel for a site; kUnsupported where the operator has no row. A workspace of at most 64 KiB
// that exceeds the site's most_workspace is the stack of the thread that runs, and counts as none.
Result<KernelPointer> PrepareKernel(KernelSite& site);

}  // namespace plimsoll::kernels
