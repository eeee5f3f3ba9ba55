#include "kernels/cpu/convolution/depthwise_transposed.h"
#include "kernels/cpu/convolution/product_convolution.h"
#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

Result<ConvolutionShape> ReadTransposed(const KernelSite& site) {
  const Dims& data = site.inputs[0].dims;
  const Dims& weights = site.inputs[1].dims;
  ConvolutionShape shape;
  shape.batch = data[0];
  shape.channels = data[1];
  shape.filters = site.outputs[0].dims[1];
  shape.groups = site.attributes().Int("group", 1);
  if (shape.channels % shape.groups != 0) {
    return site.BadInput(
        StrCat(shape.channels, " channels cannot be split into ", shape.groups, " groups"));
  }
  PLIMSOLL_ASSIGN(shape.window,
                  ReadTransposedWindow(site, data, Dims(weights.begin() + 2, weights.end()),
                                       site.outputs[0].dims));
  return shape;
}

template <typename T>
KernelPointer MakeTransposedLoops(const ConvolutionShape& shape) {
  return MakeKernel([shape](const KernelCall& call) {
    ConvolveTransposed(shape, static_cast<const T*>(call.inputs[0]),
                       static_cast<const T*>(call.inputs[1]),
                       static_cast<const T*>(call.inputs.size() > 2 ? call.inputs[2] : nullptr),
                       static_cast<T*>(call.outputs[0]));
  });
}

Result<KernelPointer> MakeConvTranspose(KernelSite& site) {
  PLIMSOLL_ASSIGN(const ConvolutionShape shape, ReadTransposed(site));
  const DataType type = site.inputs[0].type;
  if (type == DataType::kFloat64) return MakeTransposedLoops<double>(shape);
  if (type != DataType::kFloat32) {
    return site.Unsupported(StrCat("there is no convolution of ", graph::Name(type)));
  }
  if (site.inputs[0].elements() > 0 && site.outputs[0].elements() > 0) {
    if (SuitsDepthwiseTransposed(site, shape)) return MakeDepthwiseTransposed(site, shape);
    return MakeProductTransposed(site, shape);
  }
  return MakeTransposedLoops<float>(shape);
}

constexpr KernelRow kConvTransposeRows[] = {
    {"", "ConvTranspose", 1, graph::kNewest, WithHalvesWidened<MakeConvTranspose>},
};

}  // namespace

std::span<const KernelRow> ConvTransposeKernels() { return kConvTransposeRows; }

}  // namespace plimsoll::kernels::cpu
