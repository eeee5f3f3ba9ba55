#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Transposed convolutions of float32 over one or two axes whose filters each look at one channel,
// without dilation. The places of the output that lie a stride apart are a convolution of stride
// one under some of the taps, turned around: each such phase is summed by itself and then spread.
bool SuitsDepthwiseTransposed(const KernelSite& site, const ConvolutionShape& shape);

KernelPointer MakeDepthwiseTransposed(const KernelSite& site, const ConvolutionShape& shape);

}  // namespace plimsoll::kernels::cpu
