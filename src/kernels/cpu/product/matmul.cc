#include <utility>

#include "kernels/cpu/elementwise/widened.h"
#include "kernels/cpu/families.h"
#include "kernels/cpu/product/float_product.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

using graph::DataType;

Error NoProduct(const KernelSite& site) {
  return site.Unsupported(
      StrCat("there is no matrix product of ", graph::Name(site.inputs[0].type)));
}

Result<KernelPointer> MakeFloatMatMul(const KernelSite& site, ProductShape shape) {
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(FloatProduct product,
                  FloatProduct::Make(site, 1, std::move(shape), 1, {}, workspace));
  return MakeKernel(
      [product = std::move(product)](const KernelCall& call) {
        product.Run(static_cast<const float*>(call.inputs[0]),
                    static_cast<const float*>(call.inputs[1]), {}, {},
                    static_cast<float*>(call.outputs[0]), call.workspace);
      },
      workspace.total(), FloatProduct::kWorkspacePurpose);
}

Result<KernelPointer> MakeMatMul(KernelSite& site) {
  PLIMSOLL_ASSIGN(ProductShape shape, ReadProduct(site, site.inputs[0].dims, site.inputs[1].dims));
  const DataType type = site.inputs[0].type;
  if (type == DataType::kFloat32) return MakeFloatMatMul(site, std::move(shape));
  using Types = TypeList<double, int32_t, int64_t, uint32_t, uint64_t>;
  KernelPointer kernel;
  VisitType<Types>(type, [&]<typename T>() {
    kernel = MakeKernel([shape](const KernelCall& call) {
      MultiplyMatrices(shape, static_cast<const T*>(call.inputs[0]),
                       static_cast<const T*>(call.inputs[1]), static_cast<T*>(call.outputs[0]));
    });
  });
  if (kernel == nullptr) return NoProduct(site);
  return kernel;
}

// What Gemm adds to its product: beta * C, broadcast.
struct GemmAddend {
  bool present = false;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

GemmAddend ReadAddend(const KernelSite& site, const ProductShape& shape) {
  if (!site.has_input(2)) return {};
  const Dims& dims = site.inputs[2].dims;
  const int64_t columns = dims.empty() ? 1 : dims.back();
  const int64_t rows = dims.size() < 2 ? 1 : dims[dims.size() - 2];
  return {.present = true,
          .row_stride = rows == 1 && shape.rows != 1 ? 0 : columns,
          .column_stride = columns == 1 && shape.columns != 1 ? 0 : 1};
}

Result<KernelPointer> MakeFloatGemm(const KernelSite& site, ProductShape shape,
                                    const GemmAddend& addend, float alpha, float beta) {
  WorkspaceLayout workspace;
  PLIMSOLL_ASSIGN(FloatProduct product,
                  FloatProduct::Make(site, 1, std::move(shape), alpha, {}, workspace));
  return MakeKernel(
      [product = std::move(product), addend, beta](const KernelCall& call) {
        Addend bias{
            .row_stride = addend.row_stride, .column_stride = addend.column_stride, .factor = beta};
        if (addend.present) bias.data = static_cast<const float*>(call.inputs[2]);
        product.Run(static_cast<const float*>(call.inputs[0]),
                    static_cast<const float*>(call.inputs[1]), bias, {},
                    static_cast<float*>(call.outputs[0]), call.workspace);
      },
      workspace.total(), FloatProduct::kWorkspacePurpose);
}

template <typename T>
KernelPointer MakeGemmLoops(ProductShape shape, const GemmAddend& addend, double alpha,
                            double beta) {
  return MakeKernel([shape = std::move(shape), addend, alpha, beta](const KernelCall& call) {
    T* const c = static_cast<T*>(call.outputs[0]);
    MultiplyMatrices(shape, static_cast<const T*>(call.inputs[0]),
                     static_cast<const T*>(call.inputs[1]), c);
    const T* const other = addend.present ? static_cast<const T*>(call.inputs[2]) : nullptr;
    for (int64_t i = 0; i < shape.c_size(); ++i) {
      double value = alpha * static_cast<double>(c[i]);
      if (other != nullptr) {
        value += beta * static_cast<double>(other[i / shape.columns * addend.row_stride +
                                                  i % shape.columns * addend.column_stride]);
      }
      c[i] = static_cast<T>(value);
    }
  });
}

Result<KernelPointer> MakeGemm(KernelSite& site) {
  PLIMSOLL_ASSIGN(ProductShape shape, ReadProduct(site, site.inputs[0].dims, site.inputs[1].dims,
                                                  site.attributes().Int("transA", 0) != 0,
                                                  site.attributes().Int("transB", 0) != 0));
  const double alpha = site.attributes().Float("alpha", 1);
  const double beta = site.attributes().Float("beta", 1);
  const GemmAddend addend = ReadAddend(site, shape);
  const DataType type = site.inputs[0].type;
  if (type == DataType::kFloat32) {
    return MakeFloatGemm(site, std::move(shape), addend, static_cast<float>(alpha),
                         static_cast<float>(beta));
  }
  using Types = TypeList<double, int32_t, int64_t, uint32_t, uint64_t>;
  KernelPointer kernel;
  VisitType<Types>(type, [&]<typename T>() {
    kernel = MakeGemmLoops<T>(std::move(shape), addend, alpha, beta);
  });
  if (kernel == nullptr) return NoProduct(site);
  return kernel;
}

constexpr KernelRow kMatmulRows[] = {
    {"", "MatMul", 1, graph::kNewest, WithHalvesWidened<MakeMatMul>},
    {"", "Gemm", 1, graph::kNewest, WithHalvesWidened<MakeGemm>},
};

}  // namespace

std::span<const KernelRow> MatMulKernels() { return kMatmulRows; }

}  // namespace plimsoll::kernels::cpu
