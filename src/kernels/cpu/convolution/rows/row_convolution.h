#pragma once

#include "kernels/cpu/convolution/float_convolution.h"

namespace plimsoll::kernels::cpu {

// Convolutions of float32 over up to three axes by sums of shifted rows, for filters that do not
// fill blocks of channels: gathering what each place looks at would cost more than this. The rows
// that some output rows look at are brought into the workspace once, with their padding and apart
// by stride. Data and output may be blocked.
//
struct RowSuitability {
  bool suits = false;
  double idle = 1;  // threads that the work is worth, for each that has a part and a workspace
};

// Whether the shape is one for it, whatever else there is: few sums are made that nobody needs, and
// the workspace is small.
RowSuitability SuitsRowConvolution(const KernelSite& site, const FloatConvolution& wanted);

KernelPointer MakeRowConvolution(const KernelSite& site, const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
