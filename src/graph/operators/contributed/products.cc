#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "graph/operators/product/operations.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// A x B^T, where B is [N, K] in blocks of `block_size` along K, `bits` each, with a scale and
// perhaps a zero point a block: A, B [N, blocks, bytes], scales, zero points, g_idx, bias.
Status InferMatMulNBits(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 5}));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 1));
  const int64_t columns = context.attributes().Int("N", 0);
  const int64_t depth = context.attributes().Int("K", 0);
  const int64_t bits = context.attributes().Int("bits", 4);
  const int64_t block = context.attributes().Int("block_size", 0);
  if (columns < 1 || depth < 1) {
    return context.Fail(StrCat("N is ", columns, " and K is ", depth));
  }
  if (bits != 2 && bits != 4 && bits != 8) {
    return context.Fail(StrCat("bits is ", bits, ", not 2, 4 or 8"));
  }
  if (block < 16 || block > (1 << 20) || !std::has_single_bit(static_cast<uint64_t>(block))) {
    return context.Fail(StrCat("block_size is ", block, ", not a power of two from 16 on"));
  }
  const int64_t blocks = (depth + block - 1) / block;
  if (const Shape* packed = context.input_shape(1)) {
    const Dim bytes = blocks * (block / 8 * bits);
    if (!MayBeEqual(ElementCount(*packed), Dim(columns) * bytes)) {
      return context.Fail(StrCat("B ", Text(*packed), " does not hold ", columns, " columns of ",
                                 blocks, " blocks"));
    }
  }
  const Shape* data = context.input_shape(0);
  if (data == nullptr) {
    context.SetOutputOfUnknownRank(0, TypeOf(context, {0, 5}));
    return {};
  }
  PLIMSOLL_TRY(CheckEqual(context, "K and the last axis of A", depth, data->back()));
  Shape shape = *data;
  shape.back() = columns;
  context.SetOutput(0, TypeOf(context, {0, 5}), std::move(shape));
  return {};
}

// Rows of a table in blocks: table, indices, scales, zero points. Bytes hold several elements each,
// along the last axis.
Status InferGatherBlockQuantized(InferContext& context) {
  PLIMSOLL_TRY(CheckPresent(context, {2}));
  PLIMSOLL_TRY(CheckSameType(context, {0, 3}));
  const DataType type = context.input_data_type(2);
  const Shape* table = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (table == nullptr || indices == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const auto rank = static_cast<int64_t>(table->size());
  int64_t axis = context.attributes().Int("gather_axis", 0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return context.Fail("gather_axis is outside of the table");
  Shape made = *table;
  const int64_t bits = context.attributes().Int("bits", 4);
  if (context.input_data_type(0) == DataType::kUint8 && (bits == 2 || bits == 4)) {
    made.back() = made.back() * Dim(8 / bits);
  }
  made.erase(made.begin() + axis);
  made.insert(made.begin() + axis, indices->begin(), indices->end());
  context.SetOutput(0, type, std::move(made));
  return {};
}

// An operand of FusedMatMul as [batch..., rows, columns]. transBatch says that the rows come first:
// [rows, batch..., columns], before `trans` exchanges the last two axes.
Shape FactorShape(const InferContext& context, size_t input, std::string_view side) {
  Shape shape = *context.input_shape(input);
  if (context.attributes().Int(StrCat("transBatch", side), 0) != 0) {
    std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
  }
  if (context.attributes().Int(StrCat("trans", side), 0) != 0) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  }
  return shape;
}

Status InferBatchedMatMul(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1}));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 1, 2));
  if (context.input_shape(0) == nullptr || context.input_shape(1) == nullptr) {
    context.SetOutputOfUnknownRank(0, TypeOf(context, {0, 1}));
    return {};
  }
  const Shape a = FactorShape(context, 0, "A");
  const Shape b = FactorShape(context, 1, "B");
  PLIMSOLL_TRY(
      CheckEqual(context, "the inner dimensions of both factors", a.back(), b[b.size() - 2]));
  const Shape batch_a(a.begin(), a.end() - 2);
  const Shape batch_b(b.begin(), b.end() - 2);
  const std::array<const Shape*, 2> batches{&batch_a, &batch_b};
  std::optional<Shape> shape = Broadcast(batches);
  if (!shape) {
    return context.Fail(StrCat("the batches of ", Text(a), " and ", Text(b), " do not broadcast"));
  }
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  context.SetOutput(0, TypeOf(context, {0, 1}), *std::move(shape));
  return {};
}

constexpr OperatorFacts kBlockProduct = {.operations = MatrixOperations};

constexpr OperatorRow kContributedProductRows[] = {
    {kContributedDomain, "MatMulNBits", 1, kNewest, 3, 6, 1, 1, InferMatMulNBits, kBlockProduct},
    {kContributedDomain, "GatherBlockQuantized", 1, kNewest, 3, 4, 1, 1, InferGatherBlockQuantized},
    {kContributedDomain, "FusedMatMul", 1, kNewest, 2, 2, 1, 1, InferBatchedMatMul},
};

}  // namespace

std::span<const OperatorRow> ContributedProductRows() { return kContributedProductRows; }

}  // namespace plimsoll::graph::operators
