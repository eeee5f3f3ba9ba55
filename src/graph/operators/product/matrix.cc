#include <array>
#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "graph/operators/product/einsum.h"
#include "graph/operators/product/operations.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// The shape of a product by numpy's rule: the last two axes are matrices, those before broadcast; a
// vector counts as a row on the left and as a column on the right, and its axis is dropped.
Result<std::optional<Shape>> ProductShape(const InferContext& context, size_t left, size_t right) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, left, 1));
  PLIMSOLL_TRY(CheckRankAtLeast(context, right, 1));
  const Shape* a = context.input_shape(left);
  const Shape* b = context.input_shape(right);
  if (a == nullptr || b == nullptr) return std::optional<Shape>();
  const bool row = a->size() == 1;
  const bool column = b->size() == 1;
  const Dim& inner_a = a->back();
  const Dim& inner_b = column ? b->front() : (*b)[b->size() - 2];
  PLIMSOLL_TRY(CheckEqual(context, StrCat("the inner dimensions of ", Text(*a), " and ", Text(*b)),
                          inner_a, inner_b));
  const Shape batch_a(a->begin(), row ? a->begin() : a->end() - 2);
  const Shape batch_b(b->begin(), column ? b->begin() : b->end() - 2);
  const std::array<const Shape*, 2> batches{&batch_a, &batch_b};
  std::optional<Shape> shape = Broadcast(batches);
  if (!shape) {
    return context.Fail(
        StrCat("the batches of ", Text(*a), " and ", Text(*b), " do not broadcast"));
  }
  if (!row) shape->push_back((*a)[a->size() - 2]);
  if (!column) shape->push_back(b->back());
  return shape;
}

Status InferProduct(InferContext& context, size_t left, size_t right, DataType type) {
  PLIMSOLL_ASSIGN(const std::optional<Shape> shape, ProductShape(context, left, right));
  SetTensor(context, 0, type, shape);
  return {};
}

Status InferMatMul(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1}));
  return InferProduct(context, 0, 1, TypeOf(context, {0, 1}));
}

Status InferMatMulInteger(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2}));
  PLIMSOLL_TRY(CheckSameType(context, {1, 3}));
  return InferProduct(context, 0, 1, DataType::kInt32);
}

Status InferQLinearMatMul(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2}));
  PLIMSOLL_TRY(CheckSameType(context, {3, 5}));
  return InferProduct(context, 0, 3, context.input_data_type(7));
}

Status InferGemm(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  PLIMSOLL_TRY(CheckRank(context, 0, 2));
  PLIMSOLL_TRY(CheckRank(context, 1, 2));
  const size_t rows = context.attributes().Int("transA", 0) != 0 ? 1 : 0;
  const size_t columns = context.attributes().Int("transB", 0) != 0 ? 0 : 1;
  const std::optional<Dim> inner_a = DimOf(context, 0, 1 - rows);
  const std::optional<Dim> inner_b = DimOf(context, 1, 1 - columns);
  if (inner_a && inner_b) {
    PLIMSOLL_TRY(CheckEqual(context, "the inner dimensions of both factors", *inner_a, *inner_b));
  }
  Shape shape{DimOf(context, 0, rows).value_or(context.UnknownDim(0, 0)),
              DimOf(context, 1, columns).value_or(context.UnknownDim(0, 1))};
  if (const Shape* bias = context.input_shape(2)) {
    bool fits = bias->size() <= 2;
    for (size_t i = 1; fits && i <= bias->size(); ++i) {
      const Dim& dim = (*bias)[bias->size() - i];
      fits = dim == Dim(1) || MayBeEqual(dim, shape[2 - i]);
    }
    if (!fits) {
      return context.Fail(
          StrCat("the bias ", Text(*bias), " does not broadcast to the product ", Text(shape)));
    }
  }
  context.SetOutput(0, TypeOf(context, {0, 1, 2}), std::move(shape));
  return {};
}

Status InferMatMulIntegerToFloat(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 4}));
  PLIMSOLL_TRY(CheckSameType(context, {1, 5}));
  PLIMSOLL_TRY(CheckSameType(context, {2, 3, 6}));
  return InferProduct(context, 0, 1, TypeOf(context, {2, 3, 6}));
}

// A quantised Gemm; floats where it has no scale for the result.
Status InferQGemm(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2}));
  PLIMSOLL_TRY(CheckSameType(context, {3, 5}));
  PLIMSOLL_TRY(CheckRank(context, 0, 2));
  PLIMSOLL_TRY(CheckRank(context, 3, 2));
  const size_t rows = context.attributes().Int("transA", 0) != 0 ? 1 : 0;
  const size_t columns = context.attributes().Int("transB", 0) != 0 ? 0 : 1;
  const std::optional<Dim> inner_a = DimOf(context, 0, 1 - rows);
  const std::optional<Dim> inner_b = DimOf(context, 3, 1 - columns);
  if (inner_a && inner_b) {
    PLIMSOLL_TRY(CheckEqual(context, "the inner dimensions of both factors", *inner_a, *inner_b));
  }
  const bool quantized = context.has_input(7);
  context.SetOutput(0, quantized ? TypeOf(context, {8, 0}) : TypeOf(context, {1, 4}),
                    {DimOf(context, 0, rows).value_or(context.UnknownDim(0, 0)),
                     DimOf(context, 3, columns).value_or(context.UnknownDim(0, 1))});
  return {};
}

Status InferInverse(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  if (const Shape* matrices = context.input_shape(0)) {
    const size_t rank = matrices->size();
    PLIMSOLL_TRY(CheckEqual(context, StrCat("the sides of ", Text(*matrices)),
                            (*matrices)[rank - 2], (*matrices)[rank - 1]));
  }
  CopyType(context, 0, 0);
  return {};
}

Status InferDeterminant(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  std::optional<Shape> shape;
  if (const Shape* matrices = context.input_shape(0)) {
    const size_t rank = matrices->size();
    PLIMSOLL_TRY(CheckEqual(context, StrCat("the sides of ", Text(*matrices)),
                            (*matrices)[rank - 2], (*matrices)[rank - 1]));
    shape = Shape(matrices->begin(), matrices->end() - 2);
  }
  SetTensor(context, 0, context.input_data_type(0), shape);
  return {};
}

constexpr OperatorFacts kProduct = {.operations = MatrixOperations};

constexpr OperatorRow kMatrixRows[] = {
    {"", "MatMul", 1, kNewest, 2, 2, 1, 1, InferMatMul, kProduct},
    {"", "MatMulInteger", 10, kNewest, 2, 4, 1, 1, InferMatMulInteger, kProduct},
    {"", "QLinearMatMul", 10, kNewest, 8, 8, 1, 1, InferQLinearMatMul, kProduct},
    {"", "Gemm", 7, 10, 3, 3, 1, 1, InferGemm, kProduct},
    {"", "Gemm", 11, kNewest, 2, 3, 1, 1, InferGemm, kProduct},
    {"", "Einsum", 12, kNewest, 1, kAny, 1, 1, InferEinsum},
    {"", "Det", 11, kNewest, 1, 1, 1, 1, InferDeterminant},
    {kContributedDomain, "MatMulIntegerToFloat", 1, kNewest, 4, 7, 1, 1, InferMatMulIntegerToFloat},
    {kContributedDomain, "QGemm", 1, kNewest, 6, 9, 1, 1, InferQGemm},
    {kContributedDomain, "Inverse", 1, kNewest, 1, 1, 1, 1, InferInverse},
};

}  // namespace

std::span<const OperatorRow> MatrixRows() { return kMatrixRows; }

}  // namespace plimsoll::graph::operators
