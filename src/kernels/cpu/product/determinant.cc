#include <algorithm>
#include <cmath>

#include "kernels/cpu/families.h"
#include "kernels/element_types.h"
#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// By elimination with the largest pivot of each column; the matrix is used up.
double Determinant(double* matrix, int64_t size) {
  double product = 1;
  for (int64_t column = 0; column < size; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < size; ++row) {
      if (std::abs(matrix[row * size + column]) > std::abs(matrix[pivot * size + column])) {
        pivot = row;
      }
    }
    const double value = matrix[pivot * size + column];
    product *= value;
    if (value == 0) return product;
    if (pivot != column) {
      product = -product;
      std::swap_ranges(matrix + pivot * size, matrix + (pivot + 1) * size, matrix + column * size);
    }
    for (int64_t row = column + 1; row < size; ++row) {
      const double factor = matrix[row * size + column] / value;
      for (int64_t i = column + 1; i < size; ++i) {
        matrix[row * size + i] -= factor * matrix[column * size + i];
      }
    }
  }
  return product;
}

Result<KernelPointer> MakeDeterminant(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  if (data.rank() < 2 || data.dims.back() != data.dims[data.dims.size() - 2]) {
    return site.BadInput("it needs square matrices");
  }
  const int64_t size = data.dims.back();
  const int64_t matrices = site.outputs[0].elements();
  KernelPointer kernel;
  VisitType<AllFloats>(data.type, [&]<typename T>() {
    kernel = MakeKernel(
        [size, matrices](const KernelCall& call) {
          const auto* from = static_cast<const T*>(call.inputs[0]);
          auto* to = static_cast<T*>(call.outputs[0]);
          auto* matrix = static_cast<double*>(call.workspace);
          for (int64_t i = 0; i < matrices; ++i) {
            std::copy_n(from + i * size * size, size * size, matrix);
            to[i] = static_cast<T>(static_cast<Wide<T>>(Determinant(matrix, size)));
          }
        },
        Bytes(size * size * int64_t{sizeof(double)}), "one matrix in float64");
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

constexpr KernelRow kDeterminantRows[] = {
    {"", "Det", 11, graph::kNewest, MakeDeterminant},
};

}  // namespace

std::span<const KernelRow> DeterminantKernels() { return kDeterminantRows; }

}  // namespace plimsoll::kernels::cpu
