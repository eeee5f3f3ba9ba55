#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/cpu/families.h"
#include "kernels/element_types.h"
#include "kernels/parallel.h"
#include "plimsoll/base/text.h"

// Of com.microsoft: Inverse, and FusedMatMul whose batches come behind the rows.
namespace plimsoll::kernels::cpu {
namespace {

// By elimination with the largest pivot of each column; false where there is no inverse. `matrix`
// is used up, `inverse` begins as the identity.
bool Invert(int64_t size, double* matrix, double* inverse) {
  for (int64_t column = 0; column < size; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < size; ++row) {
      if (std::abs(matrix[row * size + column]) > std::abs(matrix[pivot * size + column])) {
        pivot = row;
      }
    }
    const double value = matrix[pivot * size + column];
    if (value == 0 || std::isnan(value)) return false;
    for (double* side : {matrix, inverse}) {
      if (pivot != column) {
        std::swap_ranges(side + pivot * size, side + (pivot + 1) * size, side + column * size);
      }
      for (int64_t i = 0; i < size; ++i) side[column * size + i] /= value;
    }
    for (int64_t row = 0; row < size; ++row) {
      const double factor = matrix[row * size + column];
      if (row == column || factor == 0) continue;
      for (double* side : {matrix, inverse}) {
        for (int64_t i = 0; i < size; ++i) side[row * size + i] -= factor * side[column * size + i];
      }
    }
  }
  return true;
}

Result<KernelPointer> MakeInverse(KernelSite& site) {
  const TensorInfo& data = site.inputs[0];
  if (data.rank() < 2 || data.dims.back() != data.dims[data.dims.size() - 2]) {
    return site.BadInput("it needs square matrices");
  }
  const int64_t size = data.dims.back();
  const int64_t matrices = size == 0 ? 0 : data.elements() / (size * size);
  KernelPointer kernel;
  VisitType<AllFloats>(data.type, [&]<typename T>() {
    kernel = MakeKernel(
        [size, matrices,
         singular = site.BadInput("a matrix has no inverse")](const KernelCall& call) -> Status {
          auto* const matrix = static_cast<double*>(call.workspace);
          double* const inverse = matrix + size * size;
          for (int64_t i = 0; i < matrices; ++i) {
            std::copy_n(static_cast<const T*>(call.inputs[0]) + i * size * size, size * size,
                        matrix);
            std::fill_n(inverse, size * size, 0.0);
            for (int64_t d = 0; d < size; ++d) inverse[d * size + d] = 1;
            if (!Invert(size, matrix, inverse)) return singular;
            T* const to = static_cast<T*>(call.outputs[0]) + i * size * size;
            for (int64_t e = 0; e < size * size; ++e) {
              to[e] = static_cast<T>(static_cast<Wide<T>>(inverse[e]));
            }
          }
          return {};
        },
        Bytes(2 * size * size * int64_t{sizeof(double)}), "a matrix and its inverse in float64");
  });
  if (kernel == nullptr) return site.Unsupported(StrCat("data is ", graph::Name(data.type)));
  return kernel;
}

// A factor as [batch..., rows, columns], and how far apart its elements lie in the input.
struct Factor {
  Dims batch;
  Dims batch_strides;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

Factor ReadFactor(const KernelSite& site, size_t input, std::string_view side) {
  Dims dims = site.inputs[input].dims;
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  if (site.attributes().Int(StrCat("transBatch", side), 0) != 0) {
    std::rotate(dims.begin(), dims.begin() + 1, dims.end() - 1);
    std::rotate(strides.begin(), strides.begin() + 1, strides.end() - 1);
  }
  const size_t last = dims.size() - 1;
  Factor made{Dims(dims.begin(), dims.end() - 2),
              Dims(strides.begin(), strides.end() - 2),
              dims[last - 1],
              dims[last],
              strides[last - 1],
              strides[last]};
  if (site.attributes().Int(StrCat("trans", side), 0) != 0) {
    std::swap(made.rows, made.columns);
    std::swap(made.row_stride, made.column_stride);
  }
  return made;
}

// Where the factor's matrix for result number `result` begins.
int64_t MatrixOffset(const Factor& factor, std::span<const int64_t> batch, int64_t result) {
  int64_t offset = 0;
  for (size_t back = 0; back < batch.size(); ++back) {
    const int64_t size = batch[batch.size() - 1 - back];
    const int64_t place = result % size;
    result /= size;
    if (back >= factor.batch.size()) continue;
    const size_t axis = factor.batch.size() - 1 - back;
    if (factor.batch[axis] != 1) offset += place * factor.batch_strides[axis];
  }
  return offset;
}

Result<KernelPointer> MakeBatchedMatMul(KernelSite& site) {
  for (const size_t input : {0, 1}) {
    if (site.inputs[input].rank() < 2) return site.BadInput("a factor is no matrix");
  }
  const Factor a = ReadFactor(site, 0, "A");
  const Factor b = ReadFactor(site, 1, "B");
  if (a.columns != b.rows) return site.BadInput("the inner dimensions of both factors differ");
  const Dims& output = site.outputs[0].dims;
  const Dims batch(output.begin(), output.end() - 2);
  const auto alpha = static_cast<float>(site.attributes().Float("alpha", 1));
  if (site.inputs[0].type != graph::DataType::kFloat32) {
    return site.Unsupported(
        StrCat("there is no such product of ", graph::Name(site.inputs[0].type)));
  }
  return MakeKernel([=](const KernelCall& call) {
    ParallelFor(ElementCount(batch) * a.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t result = row / a.rows;
        const float* const left = static_cast<const float*>(call.inputs[0]) +
                                  MatrixOffset(a, batch, result) + row % a.rows * a.row_stride;
        const float* const right =
            static_cast<const float*>(call.inputs[1]) + MatrixOffset(b, batch, result);
        float* const to = static_cast<float*>(call.outputs[0]) + row * b.columns;
        std::fill_n(to, b.columns, 0.0F);
        for (int64_t d = 0; d < a.columns; ++d) {
          const float factor = alpha * left[d * a.column_stride];
          for (int64_t c = 0; c < b.columns; ++c) {
            to[c] += factor * right[d * b.row_stride + c * b.column_stride];
          }
        }
      }
    });
  });
}

constexpr KernelRow kContributedMatrixRows[] = {
    {graph::kContributedDomain, "Inverse", 1, graph::kNewest, MakeInverse},
    {graph::kContributedDomain, "FusedMatMul", 1, graph::kNewest, MakeBatchedMatMul},
};

}  // namespace

std::span<const KernelRow> ContributedMatrixKernels() { return kContributedMatrixRows; }

}  // namespace plimsoll::kernels::cpu
