#include "kernels/cpu/convolution/float_convolution.h"
#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

template <typename T>
KernelPointer MakeLoops(const ConvolutionShape& shape) {
  return MakeKernel([shape](const KernelCall& call) {
    Convolve(shape, static_cast<const T*>(call.inputs[0]), static_cast<const T*>(call.inputs[1]),
             static_cast<const T*>(call.inputs.size() > 2 ? call.inputs[2] : nullptr),
             static_cast<T*>(call.outputs[0]));
  });
}

Result<KernelPointer> MakeConv(KernelSite& site) {
  PLIMSOLL_ASSIGN(
      const ConvolutionShape shape,
      ReadConvolution(site, site.inputs[0].dims, site.inputs[1].dims, site.outputs[0].dims));
  const DataType type = site.inputs[0].type;
  if (type == DataType::kFloat64) return MakeLoops<double>(shape);
  if (type != DataType::kFloat32) {
    return site.Unsupported(StrCat("there is no convolution of ", graph::Name(type)));
  }
  if (site.inputs[0].elements() > 0 && site.outputs[0].elements() > 0) {
    Result<KernelPointer> fast = MakeFloatConvolution(site, {.shape = shape});
    if (fast.ok()) return fast;
  }
  return MakeLoops<float>(shape);
}

constexpr KernelRow kConvRows[] = {
    {"", "Conv", 1, graph::kNewest, WithHalvesWidened<MakeConv>},
};

}  // namespace

std::span<const KernelRow> ConvKernels() { return kConvRows; }

}  // namespace plimsoll::kernels::cpu
