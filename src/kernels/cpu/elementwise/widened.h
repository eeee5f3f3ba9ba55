#pragma once

#include "kernels/kernel_table.h"

namespace plimsoll::kernels::cpu {

// Whether any tensor of the site is float16 or bfloat16.
bool HasHalves(const KernelSite& site);

// The kernel that `make` prepares for float32 in place of the half types; half tensors are widened
// into the workspace before it runs and rounded back after it.
Result<KernelPointer> MakeWidened(KernelSite& site, KernelMaker make);

// The maker of an operator that has no half arithmetic of its own.
template <KernelMaker make>
Result<KernelPointer> WithHalvesWidened(KernelSite& site) {
  return HasHalves(site) ? MakeWidened(site, make) : make(site);
}

}  // namespace plimsoll::kernels::cpu
