#include "kernels/cpu/product/product_shape.h"

#include <algorithm>
#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::kernels::cpu {
namespace {

// For each result's place in the broadcast batch: the number of the matrix with dimensions `own`.
std::vector<int64_t> MatrixNumbers(const Dims& own, const Dims& batch) {
  std::vector<int64_t> numbers(static_cast<size_t>(ElementCount(batch)));
  const size_t lead = batch.size() - own.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t stride = 1;
    for (size_t axis = batch.size(); axis-- > 0;) {
      const int64_t place = rest % batch[axis];
      rest /= batch[axis];
      if (axis < lead) continue;
      if (own[axis - lead] != 1) numbers[i] += place * stride;
      stride *= own[axis - lead];
    }
  }
  return numbers;
}

// The batch dimensions of both, broadcast; empty where they do not fit.
std::optional<Dims> BroadcastBatch(const Dims& a, const Dims& b) {
  Dims batch(std::max(a.size(), b.size()), 1);
  for (const Dims* dims : {&a, &b}) {
    const size_t lead = batch.size() - dims->size();
    for (size_t axis = 0; axis < dims->size(); ++axis) {
      int64_t& size = batch[lead + axis];
      if (size == 1) size = (*dims)[axis];
      if ((*dims)[axis] != size && (*dims)[axis] != 1) return std::nullopt;
    }
  }
  return batch;
}

// One product with many rows, where that is the same.
void MergeRows(ProductShape& shape) {
  const size_t count = shape.a_matrices.size();
  if (count < 2 || shape.a_row_stride != shape.depth) return;
  for (size_t i = 0; i < count; ++i) {
    if (shape.b_matrices[i] != 0 || shape.a_matrices[i] != static_cast<int64_t>(i)) return;
  }
  shape.rows *= static_cast<int64_t>(count);
  shape.a_matrices = std::vector<int64_t>{0};  // without the room that so many took
  shape.b_matrices = std::vector<int64_t>{0};
}

}  // namespace

Result<ProductShape> ReadProduct(const KernelSite& site, const Dims& a, const Dims& b,
                                 bool transpose_a, bool transpose_b) {
  if (a.empty() || b.empty()) return site.BadInput("a scalar cannot be multiplied as a matrix");
  Dims left = a;
  Dims right = b;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  const int64_t left_columns = left.back();
  const int64_t right_columns = right.back();
  ProductShape shape;
  shape.a_row_stride = left_columns;
  shape.a_depth_stride = 1;
  shape.b_depth_stride = right_columns;
  shape.b_column_stride = 1;
  shape.rows = left[left.size() - 2];
  shape.depth = left_columns;
  int64_t right_depth = right[right.size() - 2];
  shape.columns = right_columns;
  if (transpose_a) {
    std::swap(shape.a_row_stride, shape.a_depth_stride);
    std::swap(shape.rows, shape.depth);
  }
  if (transpose_b) {
    std::swap(shape.b_depth_stride, shape.b_column_stride);
    std::swap(shape.columns, right_depth);
  }
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  const std::optional<Dims> batch = BroadcastBatch(left, right);
  if (shape.depth != right_depth || !batch) {
    return site.BadInput(StrCat("matrices ", graph::Text(graph::ShapeOf(a)), " and ",
                                graph::Text(graph::ShapeOf(b)), " cannot be multiplied"));
  }
  shape.a_matrices = MatrixNumbers(left, *batch);
  shape.b_matrices = MatrixNumbers(right, *batch);
  shape.b_count = ElementCount(right);
  MergeRows(shape);
  return shape;
}

}  // namespace plimsoll::kernels::cpu
