#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 over up to three axes whose filters each look at one channel, one filter
// for each, in blocks: a block of channels is one vector at every place. Plain data and results,
// over up to two axes, are moved a stripe of rows at a time. Each thread has the taps of a block,
// lane by lane, and these stripes in the workspace.
bool SuitsDepthwiseBlocks(const KernelSite& site, const FloatConvolution& wanted);

KernelPointer MakeDepthwiseBlocks(const KernelSite& site, const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
