#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 over one or two axes by sums of shifted rows, for few filters: there
// blocks of channels are mostly empty, and gathering what each place looks at costs more than the
// sums. Rows of the input are brought into the workspace once each, with their padding and apart by
// stride, as many as the kernel is high. The data may be blocked, the output is plain.
//
// Whether the shape is one for it, whatever else there is: the output's rows are long, its
// workspace is small.
bool SuitsRowConvolution(const KernelSite& site, const FloatConvolution& wanted);

KernelPointer MakeRowConvolution(const KernelSite& site, const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
