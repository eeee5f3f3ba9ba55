#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Whether sums of rows take less time than blocks of channels, which would be partly empty, or
// would have to be made and undone. `idle`: see RowSuitability; all threads share out blocks.
bool RowsAreFaster(const FloatConvolution& wanted, double idle);

}  // namespace plimsoll::kernels::cpu
