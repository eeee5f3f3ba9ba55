#include <utility>

#include "kernels/cpu/families.h"
#include "kernels/cpu/product/float_product.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr size_t kBias = 2;
constexpr size_t kResidual = 3;

// plimsoll::FusedMatMul, described in graph/operators/product/fused.cc.
Result<KernelPointer> MakeFusedMatMul(KernelSite& site) {
  if (site.inputs[0].type != graph::DataType::kFloat32) {
    return site.Unsupported(
        StrCat("there is no fused product of ", graph::Name(site.inputs[0].type)));
  }
  PLIMSOLL_ASSIGN(ProductShape shape, ReadProduct(site, site.inputs[0].dims, site.inputs[1].dims,
                                                  site.attributes().Int("transA", 0) != 0,
                                                  site.attributes().Int("transB", 0) != 0));
  PLIMSOLL_ASSIGN(const FusedActivation activation, ReadActivation(site));
  if (site.has_input(kBias) && site.inputs[kBias].elements() != shape.columns) {
    return site.BadInput(StrCat("the bias does not have ", shape.columns, " elements"));
  }
  if (site.has_input(kResidual) && site.inputs[kResidual].dims != site.outputs[0].dims) {
    return site.BadInput("the residual is not as the output");
  }
  const auto alpha = static_cast<float>(site.attributes().Float("alpha", 1));
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(FloatProduct made,
                  FloatProduct::Make(site, 1, std::move(shape), alpha, activation, workspace));
  const bool biased = site.has_input(kBias);
  const bool has_residual = site.has_input(kResidual);
  return MakeKernel(
      [product = std::move(made), biased, has_residual](const KernelCall& call) {
        Addend bias;
        Addend residual{.row_stride = product.shape().columns,
                        .matrix_stride = product.shape().c_size()};
        if (biased) bias.data = static_cast<const float*>(call.inputs[kBias]);
        if (has_residual) residual.data = static_cast<const float*>(call.inputs[kResidual]);
        product.Run(static_cast<const float*>(call.inputs[0]),
                    static_cast<const float*>(call.inputs[1]), bias, residual,
                    static_cast<float*>(call.outputs[0]), call.workspace);
      },
      workspace.total(), FloatProduct::kWorkspacePurpose);
}

constexpr KernelRow kFusedMatmulRows[] = {
    {"plimsoll", "FusedMatMul", 1, graph::kNewest, MakeFusedMatMul},
};

}  // namespace

std::span<const KernelRow> FusedMatMulKernels() { return kFusedMatmulRows; }

}  // namespace plimsoll::kernels::cpu
