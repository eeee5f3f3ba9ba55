#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "graph/operators/product/operations.h"
#include "plimsoll/base/text.h"

// plimsoll::FusedAttention: softmax(Q K^T * scale + mask) V in one node, as passes write it. No
// model file has it.
//   inputs: Q, K, V and, optionally, a mask to add that broadcasts to [batch, heads, queries, keys]
//   q_layout, kv_layout, y_layout: "bhsd" = [batch, heads, rows, width], "bshd" = [batch, rows,
//     heads, width], where the last two axes may be one; kv_layout and y_layout are q_layout unless
//     they are given. The result has as many axes as Q where their layouts are the same, else four
//     for "bhsd" and three for "bshd".
//   k_transposed: K is [batch, heads, width, rows]
//   num_heads, kv_num_heads: needed where an operand has three axes; kv_num_heads is num_heads
//     unless it is given
//   scale: 1 / sqrt(width) unless it is given; causal: a query sees the keys up to its own place,
//     the last one seeing all
namespace plimsoll::graph::operators {
namespace {

constexpr std::string_view kRowsFirst = "bshd";

// Heads and their width, of an operand with its heads on their own axis or packed into the last.
struct HeadDims {
  Dim count, width;
};

Result<HeadDims> ReadHeads(const InferContext& context, size_t input, std::string_view layout,
                           int64_t count) {
  const Shape& shape = *context.input_shape(input);
  if (shape.size() == 4) return HeadDims{shape[layout == kRowsFirst ? 2 : 1], shape[3]};
  const std::optional<Dim> width = shape.size() == 3 && layout == kRowsFirst && count > 0
                                       ? Dim::ExactDiv(shape[2], count)
                                       : std::nullopt;
  if (!width) return context.Fail(StrCat("input ", input, ", ", Text(shape), ", is not ", layout));
  return HeadDims{Dim(count), *width};
}

Status InferFusedAttention(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  const DataType type = TypeOf(context, {0, 1, 2});
  const Shape* query = context.input_shape(0);
  if (query == nullptr || context.input_shape(2) == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const std::string layout = context.attributes().String("q_layout", "bhsd");
  const std::string value_layout = context.attributes().String("kv_layout", layout);
  const std::string result_layout = context.attributes().String("y_layout", layout);
  const int64_t count = context.attributes().Int("num_heads", 0);
  PLIMSOLL_ASSIGN(const HeadDims queries, ReadHeads(context, 0, layout, count));
  PLIMSOLL_ASSIGN(
      const HeadDims values,
      ReadHeads(context, 2, value_layout, context.attributes().Int("kv_num_heads", count)));
  const Dim rows = (*query)[layout == kRowsFirst ? 1 : 2];
  const Dim& batch = (*query)[0];
  const bool packed = layout == result_layout ? query->size() == 3 : result_layout == kRowsFirst;
  if (packed) {
    context.SetOutput(0, type, {batch, rows, queries.count * values.width});
  } else if (result_layout == kRowsFirst) {
    context.SetOutput(0, type, {batch, rows, queries.count, values.width});
  } else {
    context.SetOutput(0, type, {batch, queries.count, rows, values.width});
  }
  return {};
}

constexpr OperatorFacts kFusedAttention = {.operations = FusedAttentionOperations};

constexpr OperatorRow kFusedAttentionRows[] = {
    {"plimsoll", "FusedAttention", 1, kNewest, 3, 4, 1, 1, InferFusedAttention, kFusedAttention},
};

}  // namespace

std::span<const OperatorRow> FusedAttentionRows() { return kFusedAttentionRows; }

}  // namespace plimsoll::graph::operators
