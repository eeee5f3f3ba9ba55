#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 over two or three axes whose filters each look at one channel, in plain
// forms and with columns one or two apart: every plane is read and written where it lies, a vector
// of columns at a time, and serves several rows at once. No workspace.
bool SuitsDepthwisePlanes(const FloatConvolution& wanted);

KernelPointer MakeDepthwisePlanes(const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
