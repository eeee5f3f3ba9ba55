#pragma once

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// The plain dimensions of a tensor whose channels are blocked (kernels/blocking.h). BadInput where
// its block is not this machine's, or where it has other blocks than its channels need.
Result<Dims> PlainDims(const KernelSite& site, const TensorInfo& blocked, int64_t channels);

}  // namespace plimsoll::kernels::cpu
