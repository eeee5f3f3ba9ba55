#pragma once

#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// com.microsoft's GatherBlockQuantized: rows of a table of few bits, in blocks with a scale and
// perhaps a zero point each, as floats. An index outside of the table gives zeros.
Result<KernelPointer> MakeGatherBlockQuantized(KernelSite& site);

}  // namespace plimsoll::kernels::cpu
