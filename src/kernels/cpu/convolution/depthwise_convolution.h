#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 over one or two axes whose filters each look at one channel, with any
// stride, dilation and padding, in plain and blocked forms: the rows that some output rows look at
// are brought into the workspace, with their padding and apart by stride, and summed from there.
// The workspace does not grow with the image; there is one for each thread.

// Whether the shape is one for it, whatever else there is.
bool SuitsDepthwiseConvolution(const KernelSite& site, const FloatConvolution& wanted);

KernelPointer MakeDepthwiseConvolution(const KernelSite& site, const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
