#pragma once

#include <string_view>

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 with 3 x 3 windows over blocked channels by Winograd's F(2x2, 3x3) and
// F(4x4, 3x3): 2.25 and 4 times fewer multiplications, with constant weights in a form 16/9 and 4
// times as large. A group of tiles is transformed, multiplied and transformed back at a time, so
// that the workspace stays in the second cache. Dilated windows are as many dense ones over every
// so many rows and columns.
//
// Sums that are not finite, as where an input is not, are made again by the definition, so that
// they show where that would show them. Results are the same bits for any number of threads.

// Tells the site's alternatives what it would save and hold, where it can be done in this form and
// is worth it. The kernel where the site asks for one of these alternatives; null elsewhere, also
// where its workspace is not welcome.
Result<KernelPointer> OfferWinogradConvolution(const KernelSite& site,
                                               const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
