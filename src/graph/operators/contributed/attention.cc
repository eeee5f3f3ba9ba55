#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// The mask of com.microsoft's Attention as numbers to add to scores, 0 or `hidden`:
// [batch, 1, 1 or queries, keys]. A row that hides every key is 0: they all weigh as if none were
// hidden. Inputs: the mask, the queries [batch, queries, width], the keys ([batch, keys, width] or
// [batch, heads, keys, width]) and those of the past.
Status InferAttentionMask(InferContext& context) {
  PLIMSOLL_TRY(CheckRank(context, 1, 3));
  const Shape* mask = context.input_shape(0);
  const Shape* key = context.input_shape(2);
  const DataType type = context.input_data_type(1);
  if (mask == nullptr || key == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  if (mask->empty() || mask->size() > 3) {
    return context.Fail(StrCat("a mask ", Text(*mask), " is not known"));
  }
  const Dim batch = DimOf(context, 1, 0).value_or(context.UnknownDim(0, 0));
  const Dim queries = DimOf(context, 1, 1).value_or(context.UnknownDim(0, 2));
  Dim keys = (*key)[key->size() == 4 ? 2 : 1];
  if (context.has_input(3)) {
    keys = keys + DimOf(context, 3, 2).value_or(context.UnknownDim(0, 3));
  }
  if (mask->size() > 1) {
    PLIMSOLL_TRY(CheckEqual(context, "the keys and those of the mask", keys, mask->back()));
  }
  context.SetOutput(0, type, {batch, 1, mask->size() == 3 ? queries : Dim(1), keys});
  return {};
}

// query, key, value, past key, past value, seqlens_k, total_sequence_length, cosines, sines,
// position_ids, attention_bias, head_sink. Without a key the query holds all three, side by side.
// What is present is as long as the past or as the total, whichever is longer; where attribute
// past_present_share_buffer is set it is the past's own memory, with room for what is new.
Status InferGroupQueryAttention(InferContext& context) {
  PLIMSOLL_TRY(CheckPresent(context, {5, 6}));
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2, 7, 8, 10, 11}));
  PLIMSOLL_TRY(CheckSameType(context, {3, 4}));
  const int64_t heads = context.attributes().Int("num_heads", 0);
  const int64_t groups = context.attributes().Int("kv_num_heads", 0);
  if (groups < 1 || heads < 1 || heads % groups != 0) {
    return context.Fail(StrCat(heads, " query heads cannot share ", groups, " key heads"));
  }
  for (size_t input : {0, 1, 2}) PLIMSOLL_TRY(CheckRank(context, input, 3));
  for (size_t input : {3, 4}) PLIMSOLL_TRY(CheckRank(context, input, 4));
  const DataType type = context.input_data_type(0);
  const Dim batch = DimOf(context, 0, 0).value_or(context.UnknownDim(0, 0));
  const Dim queries = DimOf(context, 0, 1).value_or(context.UnknownDim(0, 1));
  Dim width = context.UnknownDim(1, 3);
  if (const std::optional<Dim> packed = DimOf(context, 0, 2)) {
    const int64_t parts = context.has_input(1) ? heads : heads + 2 * groups;
    if (std::optional<Dim> quotient = Dim::ExactDiv(*packed, parts)) {
      width = *std::move(quotient);
    } else if (packed->is_number()) {
      return context.Fail(
          StrCat("a width of ", packed->number(), " does not split into ", parts, " heads"));
    }
  }
  if (const std::optional<Dim> key = DimOf(context, 1, 2)) {
    PLIMSOLL_TRY(CheckEqual(context, "the widths of queries and keys", *key, width * groups));
  }
  context.SetOutput(0, type, {batch, queries, width * heads});
  const std::optional<Dim> total = ScalarOf(context, 6);
  const bool shared = context.attributes().Int("past_present_share_buffer", 0) != 0;
  Dim present = total.value_or(context.UnknownDim(1, 2));
  if (context.has_input(3)) {
    const Dim past = DimOf(context, 3, 2).value_or(context.UnknownDim(1, 4));
    present = shared ? past : Dim::Max(past, present);
  }
  const DataType cache = context.has_input(3) ? context.input_data_type(3) : type;
  for (size_t output : {1, 2}) {
    if (context.has_output(output))
      context.SetOutput(output, cache, {batch, groups, present, width});
  }
  if (context.has_output(3)) return context.Fail("output 3, the scores, is not known");
  return {};
}

Status InferContributedRotaryEmbedding(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2, 3}));
  PLIMSOLL_TRY(CheckTensor(context, 0));
  if (const Shape* data = context.input_shape(0);
      data != nullptr && data->size() != 3 && data->size() != 4) {
    return context.Fail(StrCat("input 0 must have 3 or 4 dimensions, but is ", Text(*data)));
  }
  CopyType(context, 0, 0);
  return {};
}

constexpr OperatorFacts kOntoCache = {.in_place_caches = {{{1, 3}, {2, 4}}}};

constexpr OperatorRow kContributedAttentionRows[] = {
    {"plimsoll", "AttentionMask", 1, kNewest, 3, 4, 1, 1, InferAttentionMask},
    {kContributedDomain, "GroupQueryAttention", 1, kNewest, 1, 16, 1, 4, InferGroupQueryAttention,
     kOntoCache},
    {kContributedDomain, "RotaryEmbedding", 1, kNewest, 4, 4, 1, 1, InferContributedRotaryEmbedding,
     kOverFirstInput},
};

}  // namespace

std::span<const OperatorRow> ContributedAttentionRows() { return kContributedAttentionRows; }

}  // namespace plimsoll::graph::operators
