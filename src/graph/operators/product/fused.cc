#include <array>
#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "graph/operators/product/operations.h"
#include "graph/operators/product/sliding_window.h"
#include "plimsoll/base/text.h"

// Operators of the domain "plimsoll" that passes put in place of standard ones; no model file has
// them. A tensor [N, C, spatial...] whose channels are blocked is [N, ceil(C / b), spatial..., b],
// with zeros beyond C. Attributes of several of them:
//   channels: C of a blocked input
//   block: b of a blocked output
//   activation, activation_alpha, activation_beta: a function applied to the results at last;
//     activation_steps: 1 where it takes ONNX Runtime's steps
//
//   FusedConv(X, W, bias?, residual?): Conv, plus the residual, which is as the output; attributes
//     of Conv, and input_blocked, output_blocked (0 or 1)
//   FusedPool(X): attribute kind (MaxPool, AveragePool, GlobalAveragePool) and its attributes; in
//     and out are blocked
//   FusedScaleShift(X, scale, shift, addend?): scale * X + shift, one number of each per channel;
//     attributes input_blocked (0 or 1), and the output is as the input; float_steps: 1 where
//     scale * (X + addend) + shift is rounded to float32 in each step, of channels that are not
//     blocked
//   BlockChannels(X), UnblockChannels(X)
//   ByteTable(X, table): element i of the table, of 256, for each byte i of X, signed or not
//   FusedMatMul(A, B, bias?, residual?): alpha * A x B, plus the bias, one number per column, plus
//     the residual, which is as the output; transA and transB exchange the last two axes, of a
//     vector nothing. With
//     `columns`, that many columns of the one matrix B are used from first_column on, and as many
//     rows as A has columns from first_depth on. B may be of halves where the others are float32.
//     sum_steps, of MatMul and Gemm too: the order in which ONNX Runtime adds up, 1 with a B that
//     is constant there, 2 with another; bias_last: 1 where the bias is added to whole sums
namespace plimsoll::graph::operators {
namespace {

Result<Dim> ReadPositive(const InferContext& context, std::string_view name) {
  const int64_t number = context.attributes().Int(name, 0);
  if (number < 1) return context.Fail(StrCat("attribute ", name, " is ", number));
  return Dim(number);
}

// The plain shape of an input that is blocked or not; nothing while it is not known.
Result<std::optional<Shape>> PlainShape(const InferContext& context, size_t input, bool blocked) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, input, blocked ? 4 : 2));
  const Shape* given = context.input_shape(input);
  if (given == nullptr) return std::optional<Shape>();
  Shape shape = *given;
  if (blocked) {
    PLIMSOLL_ASSIGN(const Dim channels, ReadPositive(context, "channels"));
    PLIMSOLL_TRY(CheckEqual(context, "the blocks of the data and those of its channels", shape[1],
                            Dim::CeilDiv(channels, shape.back())));
    shape[1] = channels;
    shape.pop_back();
  }
  return std::optional<Shape>(std::move(shape));
}

Result<Shape> BlockedShape(const InferContext& context, Shape plain) {
  PLIMSOLL_ASSIGN(const Dim block, ReadPositive(context, "block"));
  plain[1] = Dim::CeilDiv(plain[1], block);
  plain.push_back(block);
  return plain;
}

Status SetImage(InferContext& context, Shape plain, bool blocked) {
  if (blocked) {
    PLIMSOLL_ASSIGN(plain, BlockedShape(context, std::move(plain)));
  }
  context.SetOutput(0, TypeOf(context, {0}), std::move(plain));
  return {};
}

Status InferFusedConv(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2, 3}));
  const bool input_blocked = context.attributes().Int("input_blocked", 0) != 0;
  const bool output_blocked = context.attributes().Int("output_blocked", 0) != 0;
  PLIMSOLL_ASSIGN(const std::optional<Shape> data, PlainShape(context, 0, input_blocked));
  const Shape* weights = context.input_shape(1);
  if (!data || weights == nullptr) {
    context.SetOutputOfUnknownRank(0, TypeOf(context, {0, 1}));
    return {};
  }
  if (weights->size() != data->size()) {
    return context.Fail(
        StrCat("the data ", Text(*data), " and the weights ", Text(*weights), " differ in rank"));
  }
  PLIMSOLL_TRY(CheckVector(context, 2, (*weights)[0]));
  PLIMSOLL_TRY(CheckEqual(context, "the channels of the data and of the weights", (*data)[1],
                          (*weights)[1] * context.attributes().Int("group", 1)));
  PLIMSOLL_ASSIGN(const SlidingWindow window,
                  ReadWindow(context, std::vector<Dim>(weights->begin() + 2, weights->end())));
  PLIMSOLL_ASSIGN(Shape shape, Slide(context, window, *data, {(*data)[0], (*weights)[0]}));
  return SetImage(context, std::move(shape), output_blocked);
}

Status InferFusedPool(InferContext& context) {
  PLIMSOLL_ASSIGN(const std::optional<Shape> data, PlainShape(context, 0, true));
  if (!data) {
    context.SetOutputOfUnknownRank(0, TypeOf(context, {0}));
    return {};
  }
  Shape shape{(*data)[0], (*data)[1]};
  const std::string kind = context.attributes().String("kind", "");
  if (kind == "GlobalAveragePool") {
    shape.resize(data->size(), 1);
  } else if (kind == "MaxPool" || kind == "AveragePool") {
    PLIMSOLL_ASSIGN(const SlidingWindow window, ReadWindow(context));
    PLIMSOLL_ASSIGN(shape, Slide(context, window, *data, std::move(shape)));
  } else {
    return context.Fail(
        StrCat("kind is '", kind, "', not MaxPool, AveragePool or GlobalAveragePool"));
  }
  return SetImage(context, std::move(shape), true);
}

Status InferFusedScaleShift(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  const bool blocked = context.attributes().Int("input_blocked", 0) != 0;
  PLIMSOLL_ASSIGN(std::optional<Shape> shape, PlainShape(context, 0, blocked));
  if (!shape) {
    context.SetOutputOfUnknownRank(0, TypeOf(context, {0}));
    return {};
  }
  PLIMSOLL_TRY(CheckVector(context, 1, (*shape)[1]));
  PLIMSOLL_TRY(CheckVector(context, 2, (*shape)[1]));
  PLIMSOLL_TRY(CheckVector(context, 3, (*shape)[1]));
  return SetImage(context, *std::move(shape), blocked);
}

Status InferBlockChannels(InferContext& context) {
  PLIMSOLL_ASSIGN(std::optional<Shape> shape, PlainShape(context, 0, false));
  if (shape) return SetImage(context, *std::move(shape), true);
  context.SetOutputOfUnknownRank(0, TypeOf(context, {0}));
  return {};
}

Status InferUnblockChannels(InferContext& context) {
  PLIMSOLL_ASSIGN(std::optional<Shape> shape, PlainShape(context, 0, true));
  if (shape) return SetImage(context, *std::move(shape), false);
  context.SetOutputOfUnknownRank(0, TypeOf(context, {0}));
  return {};
}

Status InferByteTable(InferContext& context) {
  PLIMSOLL_TRY(CheckVector(context, 1, 256));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    context.SetOutputOfUnknownRank(0, TypeOf(context, {1}));
  } else {
    context.SetOutput(0, TypeOf(context, {1}), *shape);
  }
  return {};
}

// An operand of a product as [batch..., rows, columns]: a vector is a row on the left and a column
// on the right.
std::optional<Shape> MatrixShape(const InferContext& context, size_t input,
                                 std::string_view transposed) {
  const Shape* given = context.input_shape(input);
  if (given == nullptr) return std::nullopt;
  Shape shape = *given;
  if (shape.size() == 1) {
    shape.insert(input == 0 ? shape.begin() : shape.end(), Dim(1));
    return shape;
  }
  if (context.attributes().Int(transposed, 0) != 0) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  }
  return shape;
}

Status InferFusedMatMul(InferContext& context) {
  const DataType right = TypeOf(context, {1});
  const bool halves = right == DataType::kFloat16 || right == DataType::kBfloat16;
  if (!halves) PLIMSOLL_TRY(CheckSameType(context, {0, 1}));
  PLIMSOLL_TRY(CheckSameType(context, {0, 2, 3}));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 1));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 1, 1));
  const std::optional<Shape> a = MatrixShape(context, 0, "transA");
  const std::optional<Shape> b = MatrixShape(context, 1, "transB");
  if (!a || !b) {
    context.SetOutputOfUnknownRank(0, TypeOf(context, {0}));
    return {};
  }
  const int64_t columns = context.attributes().Int("columns", 0);
  if (columns == 0) {
    PLIMSOLL_TRY(CheckEqual(context, "the inner dimensions of both factors", a->back(),
                            (*b)[b->size() - 2]));
  }
  const Shape batch_a(a->begin(), a->end() - 2);
  const Shape batch_b(b->begin(), b->end() - 2);
  const std::array<const Shape*, 2> batches{&batch_a, &batch_b};
  std::optional<Shape> shape = Broadcast(batches);
  if (!shape) {
    return context.Fail(
        StrCat("the batches of ", Text(*a), " and ", Text(*b), " do not broadcast"));
  }
  if (context.input_shape(0)->size() > 1) shape->push_back((*a)[a->size() - 2]);
  if (context.input_shape(1)->size() > 1) {
    shape->push_back(columns == 0 ? b->back() : Dim(columns));
  }
  context.SetOutput(0, TypeOf(context, {0}), *std::move(shape));
  return {};
}

// Both may be written onto the residual.
constexpr OperatorFacts kFusedConvolution = {.in_place_inputs = Inputs(3),
                                             .operations = ConvolutionOperations};
constexpr OperatorFacts kFusedProduct = {.in_place_inputs = Inputs(3),
                                         .operations = MatrixOperations};

constexpr OperatorFacts kOverData = {.in_place_inputs = Inputs(0)};

constexpr OperatorRow kFusedRows[] = {
    {"plimsoll", "FusedConv", 1, kNewest, 2, 4, 1, 1, InferFusedConv, kFusedConvolution},
    {"plimsoll", "FusedPool", 1, kNewest, 1, 1, 1, 1, InferFusedPool},
    {"plimsoll", "FusedScaleShift", 1, kNewest, 3, 4, 1, 1, InferFusedScaleShift, kOverData},
    {"plimsoll", "BlockChannels", 1, kNewest, 1, 1, 1, 1, InferBlockChannels},
    {"plimsoll", "UnblockChannels", 1, kNewest, 1, 1, 1, 1, InferUnblockChannels},
    {"plimsoll", "ByteTable", 1, kNewest, 2, 2, 1, 1, InferByteTable, kOverData},
    {"plimsoll", "FusedMatMul", 1, kNewest, 2, 4, 1, 1, InferFusedMatMul, kFusedProduct},
};

}  // namespace

std::span<const OperatorRow> FusedRows() { return kFusedRows; }

}  // namespace plimsoll::graph::operators
