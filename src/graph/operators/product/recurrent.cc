#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// What RNN, GRU and LSTM share: data [sequence, batch, features] (batch first where `layout` is 1),
// weights [directions, gates*hidden, features], recurrence [directions, gates*hidden, hidden].
// Both weights are transposed where they are quantised: [directions, features, gates*hidden].
Status InferRecurrent(InferContext& context, int64_t gates, bool quantized = false) {
  PLIMSOLL_TRY(quantized ? CheckSameType(context, {0, 3, 5})
                         : CheckSameType(context, {0, 1, 2, 3, 5}));
  for (size_t input : {0, 1, 2}) PLIMSOLL_TRY(CheckRank(context, input, 3));
  const std::string direction = context.attributes().String("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return context.Fail(
        StrCat("direction is '", direction, "', not forward, reverse or bidirectional"));
  }
  const Dim directions = direction == "bidirectional" ? 2 : 1;
  for (size_t input : {1, 2}) {
    if (const std::optional<Dim> have = DimOf(context, input, 0)) {
      PLIMSOLL_TRY(
          CheckEqual(context, "the directions and those of the weights", directions, *have));
    }
  }
  Dim hidden = DimOf(context, 2, quantized ? 1 : 2).value_or(context.UnknownDim(0, 3));
  if (const int64_t declared = context.attributes().Int("hidden_size", 0); declared > 0) {
    PLIMSOLL_TRY(CheckEqual(context, "hidden_size and the weights", declared, hidden));
    hidden = declared;
  }
  if (const std::optional<Dim> rows = DimOf(context, 1, quantized ? 2 : 1)) {
    PLIMSOLL_TRY(CheckEqual(context, "the rows of the weights and those that the gates need", *rows,
                            hidden * gates));
  }
  const std::optional<Dim> features = DimOf(context, 0, 2);
  const std::optional<Dim> weighed = DimOf(context, 1, quantized ? 1 : 2);
  if (features && weighed) {
    PLIMSOLL_TRY(
        CheckEqual(context, "the features of the data and of the weights", *features, *weighed));
  }
  const bool batch_first = context.version() >= 14 && context.attributes().Int("layout", 0) != 0;
  const Dim sequence = DimOf(context, 0, batch_first ? 1 : 0).value_or(context.UnknownDim(0, 0));
  const Dim batch = DimOf(context, 0, batch_first ? 0 : 1).value_or(context.UnknownDim(0, 2));
  const DataType type = quantized ? TypeOf(context, {0}) : TypeOf(context, {0, 1, 2});
  const Shape all = batch_first ? Shape{batch, sequence, directions, hidden}
                                : Shape{sequence, directions, batch, hidden};
  const Shape last =
      batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  for (size_t output = 0; output < context.output_count(); ++output) {
    if (context.has_output(output)) context.SetOutput(output, type, output == 0 ? all : last);
  }
  return {};
}

Status InferRnn(InferContext& context) { return InferRecurrent(context, 1); }
Status InferGru(InferContext& context) { return InferRecurrent(context, 3); }
Status InferLstm(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 6, 7}));
  return InferRecurrent(context, 4);
}
Status InferDynamicQuantizeLstm(InferContext& context) {
  PLIMSOLL_TRY(CheckPresent(context, {8, 9, 10, 11}));
  PLIMSOLL_TRY(CheckSameType(context, {0, 6, 7, 8, 10}));
  PLIMSOLL_TRY(CheckSameType(context, {1, 9}));
  PLIMSOLL_TRY(CheckSameType(context, {2, 11}));
  return InferRecurrent(context, 4, /*quantized=*/true);
}

constexpr OperatorRow kRecurrentRows[] = {
    {"", "RNN", 7, kNewest, 3, 6, 0, 2, InferRnn},
    {"", "GRU", 7, kNewest, 3, 6, 0, 2, InferGru},
    {"", "LSTM", 7, kNewest, 3, 8, 0, 3, InferLstm},
    {kContributedDomain, "DynamicQuantizeLSTM", 1, kNewest, 3, 12, 0, 3, InferDynamicQuantizeLstm},
};

}  // namespace

std::span<const OperatorRow> RecurrentRows() { return kRecurrentRows; }

}  // namespace plimsoll::graph::operators
