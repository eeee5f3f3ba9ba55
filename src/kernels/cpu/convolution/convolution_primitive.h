#pragma once

#include "kernels/cpu/convolution/float_convolution.h"
#include "kernels/cpu/onednn.h"

namespace plimsoll::kernels::cpu {

// The inputs of a node with a FloatConvolution.
constexpr size_t kConvolutionData = 0;
constexpr size_t kConvolutionWeights = 1;
constexpr size_t kConvolutionBias = 2;
constexpr size_t kConvolutionResidual = 3;

struct ConvolutionForms {
  onednn::Form source;
  onednn::Form weights;
  onednn::Form destination;
};

// The forms of the node's own tensors.
ConvolutionForms FormsOf(const FloatConvolution& wanted);

// The fast primitive that keeps most of the node's own forms: those that are blocked; else none.
Result<onednn::Primitive> MakeConvolutionPrimitive(const KernelSite& site,
                                                   const FloatConvolution& wanted,
                                                   const ConvolutionForms& own);

}  // namespace plimsoll::kernels::cpu
