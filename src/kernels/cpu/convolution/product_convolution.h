#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 as products of matrices (gemm.h), for a stretch of places at a time: the
// workspace does not grow with the image, and stretches are as long as the site's most_workspace
// allows. Plain and blocked forms are read and written as they lie. Every shape of the standard is
// supported; there is something to compute.

// What an output place looks at is gathered, some channels at a time, and multiplied with the
// weights as they lie.
KernelPointer MakeProductConvolution(const KernelSite& site, const FloatConvolution& wanted);

// The same for windows that mostly look at padding: the output is divided into rectangles whose
// places all meet the input under the same taps, and those taps alone take part. Constant weights
// are put tap by tap once where the site has a place for them.
Result<KernelPointer> MakeLiveTapConvolution(const KernelSite& site,
                                             const FloatConvolution& wanted);
// Whether that saves so much that it is faster than all taps by oneDNN.
bool MostlyMeetsPadding(const ConvolutionShape& shape);

// Transposed, in plain forms, without activation and residual. Input places are multiplied with the
// weights, and the products spread over the output. Constant weights are transposed once where the
// site has a place for them.
Result<KernelPointer> MakeProductTransposed(const KernelSite& site, const ConvolutionShape& shape);

}  // namespace plimsoll::kernels::cpu
