#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 without groups, in place of oneDNN's; data and result may be blocked.
// Sums of a few output places and filters stay in registers over all taps that meet the input, so
// that padding costs nothing, however far it reaches. No workspace. Unsupported in other forms, for
// more than two axes, and where the weights are not constant or the site has no place for them
// packed.
Result<KernelPointer> MakeDirectConvolution(const KernelSite& site, const FloatConvolution& wanted);

// Whether it can be made where weights are packed.
bool CanBeDirectConvolution(const FloatConvolution& wanted);

// Whether that is faster than oneDNN: windows meet much padding, or reach further into it than
// oneDNN's loops over several filters can, or skip places of plain data that oneDNN would bring
// into blocks first; and places that meet the same taps fill tiles.
bool SuitsDirectConvolution(const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
