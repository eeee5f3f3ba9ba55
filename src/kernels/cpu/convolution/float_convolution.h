#pragma once

#include "kernels/cpu/convolution/convolution_loops.h"
#include "kernels/cpu/onednn.h"
#include "kernels/kernel.h"

namespace plimsoll::kernels::cpu {

// A float32 convolution of a node with inputs data, weights, bias (may be left out) and residual
// (may be left out; as the output in shape and form, added before the activation).
struct FloatConvolution {
  ConvolutionShape shape;
  bool source_blocked = false;  // see kernels/blocking.h
  bool destination_blocked = false;
  FusedActivation activation = {};
};

// Prepares it over oneDNN. Where oneDNN is fast only in another form than the node's, data goes
// through the workspace, a few filters at a time; where that is more than the site's
// most_workspace, or oneDNN is not fast, it becomes a product (product_convolution.h). Constant
// weights are packed once where the site has a place for them, else in each run. The residual may
// be the output's own memory, which saves a copy of it.
Result<KernelPointer> MakeFloatConvolution(const KernelSite& site, const FloatConvolution& wanted);

}  // namespace plimsoll::kernels::cpu
