#include <optional>
#include <utility>

#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/product/float_product.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

constexpr size_t kBias = 2;
constexpr size_t kResidual = 3;

// The dimensions of B as far as it is used, and where that lies where it is not all of B.
struct PartOfB {
  Dims dims;
  std::optional<MatrixPart> matrix;
};

Result<PartOfB> ReadPart(const KernelSite& site, bool transpose_a, bool transpose_b) {
  const Dims& a = site.inputs[0].dims;
  PartOfB part{.dims = site.inputs[1].dims, .matrix = std::nullopt};
  const int64_t columns = site.attributes().Int("columns", 0);
  if (columns == 0) return part;
  if (part.dims.size() != 2 || a.size() < 2) {
    return site.BadInput("a part is used of something else than one matrix");
  }
  const size_t down = transpose_b ? 1 : 0;
  const MatrixPart matrix{.first_depth = site.attributes().Int("first_depth", 0),
                          .first_column = site.attributes().Int("first_column", 0),
                          .all_depth = part.dims[down],
                          .all_columns = part.dims[1 - down]};
  const int64_t depth = a[a.size() - (transpose_a ? 2 : 1)];
  if (columns < 0 || matrix.first_depth < 0 || matrix.first_column < 0 ||
      depth > matrix.all_depth - matrix.first_depth ||
      columns > matrix.all_columns - matrix.first_column) {
    return site.BadInput("the part that is used does not lie within the right matrix");
  }
  part.dims[down] = depth;
  part.dims[1 - down] = columns;
  part.matrix = matrix;
  return part;
}

// Whether the last two axes of an input change places; of a vector they do not.
bool IsTransposed(const KernelSite& site, size_t input, std::string_view attribute) {
  return site.inputs[input].rank() > 1 && site.attributes().Int(attribute, 0) != 0;
}

// alpha * A x B, as files have it: passes fuse more with float32 alone.
Result<KernelPointer> MakeScaledDoubles(const KernelSite& site) {
  if (site.has_input(kBias) || site.has_input(kResidual) ||
      !site.attributes().String("activation", "").empty()) {
    return site.Unsupported("a product of float64 is fused with nothing");
  }
  PLIMSOLL_ASSIGN(ProductShape shape,
                  ReadProduct(site, site.inputs[0].dims, site.inputs[1].dims,
                              IsTransposed(site, 0, "transA"), IsTransposed(site, 1, "transB")));
  const double alpha = site.attributes().Float("alpha", 1);
  return MakeKernel([shape = std::move(shape), alpha,
                     count = site.outputs[0].elements()](const KernelCall& call) {
    auto* const c = static_cast<double*>(call.outputs[0]);
    MultiplyDoubles(shape, static_cast<const double*>(call.inputs[0]),
                    static_cast<const double*>(call.inputs[1]), c, false);
    for (int64_t i = 0; i < count; ++i) c[i] *= alpha;
  });
}

// plimsoll::FusedMatMul, described in graph/operators/product/fused.cc.
Result<KernelPointer> MakeFusedMatMul(KernelSite& site) {
  const graph::DataType type = site.inputs[0].type;
  if (type == graph::DataType::kFloat64) return MakeScaledDoubles(site);
  if (type == graph::DataType::kFloat16 || type == graph::DataType::kBfloat16) {
    return MakeWidened(site, MakeFusedMatMul);
  }
  if (site.inputs[0].type != graph::DataType::kFloat32) {
    return site.Unsupported(
        StrCat("there is no fused product of ", graph::Name(site.inputs[0].type)));
  }
  const bool transpose_a = IsTransposed(site, 0, "transA");
  const bool transpose_b = IsTransposed(site, 1, "transB");
  PLIMSOLL_ASSIGN(const PartOfB part, ReadPart(site, transpose_a, transpose_b));
  if (HasHalves(site) && !FloatProduct::PacksHalves(site, 1, part.matrix)) {
    return MakeWidened(site, MakeFusedMatMul);
  }
  PLIMSOLL_ASSIGN(ProductShape shape,
                  ReadProduct(site, site.inputs[0].dims, part.dims, transpose_a, transpose_b));
  if (part.matrix) {
    shape.b_depth_stride = transpose_b ? 1 : part.matrix->all_columns;
    shape.b_column_stride = transpose_b ? part.matrix->all_depth : 1;
  }
  PLIMSOLL_ASSIGN(const FusedActivation activation, ReadActivation(site));
  if (site.has_input(kBias) && site.inputs[kBias].elements() != shape.columns) {
    return site.BadInput(StrCat("the bias does not have ", shape.columns, " elements"));
  }
  if (site.has_input(kResidual) && site.inputs[kResidual].dims != site.outputs[0].dims) {
    return site.BadInput("the residual is not as the output");
  }
  const auto alpha = static_cast<float>(site.attributes().Float("alpha", 1));
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(FloatProduct made, FloatProduct::Make(site, 1, std::move(shape), alpha,
                                                        activation, workspace, part.matrix));
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
