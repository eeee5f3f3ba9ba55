#include <limits>

#include "graph/operator_row.h"
#include "onnx/contributed/compositions.h"

namespace plimsoll::onnx {
namespace {

using Name = FunctionWriter::Name;
using NamedAttributes = FunctionWriter::NamedAttributes;

// The operands of an attention, each the name of a value or empty.
struct AttentionOperands {
  Name query, key, value;
  Name mask;  // lengths, or which keys take part
  Name bias;  // to add to the scores
  Name past_key, past_value;
  Name result, present_key, present_value;
};

void AddAttention(FunctionWriter& f, const AttentionOperands& operands) {
  Name bias = operands.bias;
  if (!operands.mask.empty()) {
    const Name mask =
        f.Make("AttentionMask", {operands.mask, operands.query, operands.key, operands.past_key},
               {{"hidden", f.given().Float("mask_filter_value", -10000)}}, "plimsoll");
    bias = f.SumOf(mask, bias);
  }
  const int64_t heads = f.given().Int("num_heads", 0);
  NamedAttributes attributes{{"q_num_heads", heads},
                             {"kv_num_heads", heads},
                             {"is_causal", f.given().Int("unidirectional", 0)}};
  const double scale = f.given().Float("scale", 0);
  if (scale != 0) attributes.emplace_back("scale", scale);
  f.Add(
      "Attention",
      {operands.query, operands.key, operands.value, bias, operands.past_key, operands.past_value},
      {operands.result, operands.present_key, operands.present_value}, std::move(attributes));
}

// Adds the bias of all three projections, side by side, to queries, keys and values.
void AddBias(FunctionWriter& f, Name bias, AttentionOperands& operands) {
  if (bias.empty()) return;
  const Name width = f.Make("Shape", {operands.query}, {{"start", int64_t{-1}}});
  const Name both = f.Make("Add", {width, width});
  const Name end = f.Int64s({std::numeric_limits<int64_t>::max()});
  const auto part = [&](Name from, Name to) { return f.Make("Slice", {bias, from, to}); };
  operands.query = f.Make("Add", {operands.query, part(f.Int64s({0}), width)});
  operands.key = f.Make("Add", {operands.key, part(width, both)});
  operands.value = f.Make("Add", {operands.value, part(both, end)});
}

// Attention over queries, keys and values that lie side by side in the last axis; the past and
// what is present are stacked: [2, batch, heads, keys, width].
Status AddPackedAttention(FunctionWriter& f, Name packed, Name mask, Name past, Name bias) {
  if (f.given().Int("do_rotary", 0) != 0) return CannotWrite("do_rotary is not known");
  if (f.given().Int("past_present_share_buffer", 0) != 0) {
    return CannotWrite("past_present_share_buffer is not known");
  }
  AttentionOperands operands{.query = f.NewName(),
                             .key = f.NewName(),
                             .value = f.NewName(),
                             .mask = mask,
                             .bias = bias,
                             .past_key = {},
                             .past_value = {},
                             .result = f.out(0),
                             .present_key = {},
                             .present_value = {}};
  const std::vector<int64_t>* sizes = f.given().Ints("qkv_hidden_sizes");
  NamedAttributes split{{"axis", int64_t{-1}}};
  std::vector<Name> split_inputs{packed};
  if (sizes != nullptr && !sizes->empty()) {
    split_inputs.push_back(f.Int64s(*sizes));
  } else {
    split.emplace_back("num_outputs", int64_t{3});
  }
  f.Add("Split", std::move(split_inputs), {operands.query, operands.key, operands.value},
        std::move(split));
  if (!past.empty()) {
    operands.past_key = f.Make("Gather", {past, f.Int64(0)});
    operands.past_value = f.Make("Gather", {past, f.Int64(1)});
  }
  if (f.wants(1)) {
    operands.present_key = f.NewName();
    operands.present_value = f.NewName();
  }
  AddAttention(f, operands);
  if (!f.wants(1)) return {};
  const Name first = f.Int64s({0});
  f.Add("Concat",
        {f.Make("Unsqueeze", {operands.present_key, first}),
         f.Make("Unsqueeze", {operands.present_value, first})},
        {f.out(1)}, {{"axis", int64_t{0}}});
  return {};
}

}  // namespace

Status WriteAttention(FunctionWriter& f) {
  if (f.has(6)) return CannotWrite("past_sequence_length is not known");
  const Name packed = f.SumOf(f.Make("MatMul", {f.in(0), f.in(1)}), f.in(2));
  return AddPackedAttention(f, packed, f.in(3), f.in(4), f.in(5));
}

Status WriteQAttention(FunctionWriter& f) {
  const Name packed = f.Make("MatMulIntegerToFloat",
                             {f.in(0), f.in(1), f.in(3), f.in(4), f.in(6), f.in(7), f.in(2)}, {},
                             graph::kContributedDomain);
  return AddPackedAttention(f, packed, f.in(5), f.in(8), {});
}

Status WriteMultiHeadAttention(FunctionWriter& f) {
  if (!f.has(1) || !f.has(2)) {
    return CannotWrite("queries, keys and values that are packed into one input are not known");
  }
  if (f.has(8) || f.has(9)) {
    return CannotWrite("past_sequence_length and cache_indirection are not known");
  }
  if (f.wants(3)) return CannotWrite("output qk is not known");
  AttentionOperands operands{.query = f.in(0),
                             .key = f.in(1),
                             .value = f.in(2),
                             .mask = f.in(4),
                             .bias = f.in(5),
                             .past_key = f.in(6),
                             .past_value = f.in(7),
                             .result = f.out(0),
                             .present_key = f.out(1),
                             .present_value = f.out(2)};
  AddBias(f, f.in(3), operands);
  AddAttention(f, operands);
  return {};
}

}  // namespace plimsoll::onnx
