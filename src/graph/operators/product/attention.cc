#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "graph/operators/product/operations.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Queries, keys or values as [batch, heads, sequence, width], however the input packs them.
struct Heads {
  Dim batch, count, sequence, width;
};

// The quotient of a packed dimension by a number of heads.
Result<Dim> Unpack(const InferContext& context, const Dim& packed, int64_t heads, Dim otherwise) {
  if (heads < 1) return context.Fail("the number of heads of packed inputs is missing");
  if (std::optional<Dim> width = Dim::ExactDiv(packed, heads)) return *std::move(width);
  if (!packed.is_number()) return otherwise;
  return context.Fail(
      StrCat("a width of ", packed.number(), " does not split into ", heads, " heads"));
}

// Reads an input of rank 4, or of rank 3 with its heads packed into the last axis.
Result<Heads> ReadHeads(const InferContext& context, size_t input, std::string_view attribute) {
  const Shape& shape = *context.input_shape(input);
  if (shape.size() == 4) return Heads{shape[0], shape[1], shape[2], shape[3]};
  if (shape.size() != 3) {
    return context.Fail(
        StrCat("input ", input, " must have 3 or 4 dimensions, but is ", Text(shape)));
  }
  const int64_t heads = context.attributes().Int(attribute, 0);
  PLIMSOLL_ASSIGN(Dim width, Unpack(context, shape[2], heads, context.UnknownDim(0, 8 + input)));
  return Heads{shape[0], heads, shape[1], std::move(width)};
}

void SetAllUnknown(InferContext& context) {
  constexpr size_t kSource[] = {0, 1, 2, 0};  // each output has the type of this input
  for (size_t output = 0; output < context.output_count() && output < 4; ++output) {
    context.SetOutputOfUnknownRank(output, context.input_data_type(kSource[output]));
  }
}

Status InferAttention(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 4}));
  PLIMSOLL_TRY(CheckSameType(context, {2, 5}));
  for (size_t input : {0, 1, 2}) {
    PLIMSOLL_TRY(CheckTensor(context, input));
    if (context.input_shape(input) == nullptr) {
      SetAllUnknown(context);
      return {};
    }
  }
  PLIMSOLL_TRY(CheckRank(context, 4, 4));
  PLIMSOLL_TRY(CheckRank(context, 5, 4));
  PLIMSOLL_ASSIGN(const Heads query, ReadHeads(context, 0, "q_num_heads"));
  PLIMSOLL_ASSIGN(const Heads key, ReadHeads(context, 1, "kv_num_heads"));
  PLIMSOLL_ASSIGN(const Heads value, ReadHeads(context, 2, "kv_num_heads"));
  PLIMSOLL_TRY(CheckEqual(context, "the widths of query and key heads", query.width, key.width));
  PLIMSOLL_TRY(CheckEqual(context, "the lengths of keys and values", key.sequence, value.sequence));
  const Dim batch = Clearer(query.batch, Clearer(key.batch, value.batch));
  const Dim past =
      context.has_input(4) ? DimOf(context, 4, 2).value_or(context.UnknownDim(1, 2)) : Dim(0);
  const Dim total = past + Clearer(key.sequence, value.sequence);
  const bool packed = context.input_shape(0)->size() == 3;
  context.SetOutput(0, context.input_data_type(0),
                    packed ? Shape{batch, query.sequence, query.count * value.width}
                           : Shape{batch, query.count, query.sequence, value.width});
  if (context.has_output(1)) {
    context.SetOutput(1, context.input_data_type(1), {batch, key.count, total, key.width});
  }
  if (context.has_output(2)) {
    context.SetOutput(2, context.input_data_type(2), {batch, value.count, total, value.width});
  }
  if (context.has_output(3)) {
    context.SetOutput(3, context.input_data_type(0), {batch, query.count, query.sequence, total});
  }
  return {};
}

Status InferRotaryEmbedding(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  PLIMSOLL_TRY(CheckTensor(context, 0));
  if (const Shape* data = context.input_shape(0);
      data != nullptr && data->size() != 3 && data->size() != 4) {
    return context.Fail(StrCat("input 0 must have 3 or 4 dimensions, but is ", Text(*data)));
  }
  CopyType(context, 0, 0);
  return {};
}

Status InferLinearAttention(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2, 4, 5}));
  for (size_t input : {0, 1, 2}) PLIMSOLL_TRY(CheckRank(context, input, 3));
  PLIMSOLL_TRY(CheckRank(context, 3, 4));
  const int64_t query_heads = context.attributes().Int("q_num_heads", 0);
  const int64_t heads = context.attributes().Int("kv_num_heads", 0);
  if (heads < 1 || query_heads < 1 || query_heads % heads != 0) {
    return context.Fail(
        StrCat(query_heads, " query heads cannot share ", heads, " key and value heads"));
  }
  const DataType type = TypeOf(context, {0, 1, 2});
  const Dim batch = DimOf(context, 0, 0).value_or(context.UnknownDim(0, 0));
  const Dim sequence = DimOf(context, 0, 1).value_or(context.UnknownDim(0, 1));
  Dim key_width = context.UnknownDim(1, 2);
  Dim value_width = context.UnknownDim(1, 3);
  if (const std::optional<Dim> packed = DimOf(context, 1, 2)) {
    PLIMSOLL_ASSIGN(key_width, Unpack(context, *packed, heads, key_width));
  }
  if (const std::optional<Dim> packed = DimOf(context, 2, 2)) {
    PLIMSOLL_ASSIGN(value_width, Unpack(context, *packed, heads, value_width));
  }
  context.SetOutput(0, type, {batch, sequence, value_width * query_heads});
  context.SetOutput(1, TypeOf(context, {3, 0, 1, 2}), {batch, heads, key_width, value_width});
  return {};
}

// Infers a body that rewrites scores or probabilities and must leave their type and shape alone.
Status InferModifier(InferContext& context, std::string_view attribute, const ValueType& scores) {
  const SubgraphId body = context.attributes().Subgraph(attribute);
  if (!body.valid()) return {};
  PLIMSOLL_ASSIGN(const std::vector<ValueType> results, context.InferSubgraph(body, {&scores, 1}));
  if (results.size() != 1 || results[0].data_type != scores.data_type) {
    return context.Fail(
        StrCat(attribute, " must give one tensor like the ", Text(scores), " that it takes"));
  }
  return {};
}

Status InferFlexAttention(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  for (size_t input : {0, 1, 2}) PLIMSOLL_TRY(CheckRank(context, input, 4));
  const DataType type = TypeOf(context, {0, 1, 2});
  const auto dim = [&context](size_t input, size_t axis) {
    return DimOf(context, input, axis).value_or(context.UnknownDim(input, axis));
  };
  PLIMSOLL_TRY(CheckEqual(context, "the widths of query and key heads", dim(0, 3), dim(1, 3)));
  PLIMSOLL_TRY(CheckEqual(context, "the lengths of keys and values", dim(1, 2), dim(2, 2)));
  context.SetOutput(0, type, {dim(0, 0), dim(0, 1), dim(0, 2), dim(2, 3)});
  const int64_t otherwise =
      static_cast<int64_t>(type == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32);
  const std::optional<DataType> precision =
      DataTypeFromOnnx(context.attributes().Int("softmax_precision", otherwise));
  if (!precision) return context.Fail("softmax_precision is no element type");
  const ValueType scores =
      ValueType::Tensor(*precision, Shape{dim(0, 0), dim(0, 1), dim(0, 2), dim(1, 2)});
  PLIMSOLL_TRY(InferModifier(context, "score_mod", scores));
  return InferModifier(context, "prob_mod", scores);
}

constexpr OperatorFacts kAttention = {.operations = AttentionOperations};

constexpr OperatorRow kAttentionRows[] = {
    {"", "Attention", 23, 23, 3, 6, 1, 4, InferAttention, kAttention},
    {"", "Attention", 24, kNewest, 3, 7, 1, 4, InferAttention, kAttention},
    {"", "RotaryEmbedding", 23, kNewest, 3, 4, 1, 1, InferRotaryEmbedding, kOverFirstInput},
    {"", "LinearAttention", 27, kNewest, 3, 6, 2, 2, InferLinearAttention},
    {"ai.onnx.preview", "FlexAttention", 1, kNewest, 3, 3, 1, 1, InferFlexAttention, kAttention},
};

}  // namespace

std::span<const OperatorRow> AttentionRows() { return kAttentionRows; }

}  // namespace plimsoll::graph::operators
