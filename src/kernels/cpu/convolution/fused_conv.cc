#include "kernels/cpu/convolution/channel_blocks.h"
#include "kernels/cpu/convolution/float_convolution.h"
#include "kernels/cpu/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// plimsoll::FusedConv, described in graph/operators/product/fused.cc.
Result<KernelPointer> MakeFusedConv(KernelSite& site) {
  if (site.inputs[0].type != graph::DataType::kFloat32) {
    return site.Unsupported(
        StrCat("there is no fused convolution of ", graph::Name(site.inputs[0].type)));
  }
  FloatConvolution wanted;
  wanted.source_blocked = site.attributes().Int("input_blocked", 0) != 0;
  wanted.destination_blocked = site.attributes().Int("output_blocked", 0) != 0;
  PLIMSOLL_ASSIGN(wanted.activation, ReadActivation(site));
  const Dims& weights = site.inputs[1].dims;
  Dims data = site.inputs[0].dims;
  if (wanted.source_blocked) {
    PLIMSOLL_ASSIGN(data, PlainDims(site, site.inputs[0], site.attributes().Int("channels", 0)));
  }
  Dims output = site.outputs[0].dims;
  if (wanted.destination_blocked) {
    PLIMSOLL_ASSIGN(output, PlainDims(site, site.outputs[0], weights[0]));
  }
  if (site.has_input(3) && site.inputs[3].dims != site.outputs[0].dims) {
    return site.BadInput("the residual is not as the output");
  }
  PLIMSOLL_ASSIGN(wanted.shape, ReadConvolution(site, data, weights, output));
  if (site.outputs[0].elements() == 0) return MakeKernel([](const KernelCall&) {});
  return MakeFloatConvolution(site, wanted);
}

constexpr KernelRow kFusedConvRows[] = {
    {"plimsoll", "FusedConv", 1, graph::kNewest, MakeFusedConv},
};

}  // namespace

std::span<const KernelRow> FusedConvKernels() { return kFusedConvRows; }

}  // namespace plimsoll::kernels::cpu
