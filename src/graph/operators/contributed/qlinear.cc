#include <array>
#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Operators over quantised elements that com.microsoft has beside those of the standard. Each
// operand is followed by its scale and zero point.
namespace plimsoll::graph::operators {
namespace {

// A, its scale and zero point, B, its scale and zero point, scale and zero point of the result.
Status InferQLinearBinary(InferContext& context) {
  PLIMSOLL_TRY(CheckPresent(context, {3, 4, 6}));
  PLIMSOLL_TRY(CheckSameType(context, {0, 2, 3, 5, 7}));
  const Shape* a = context.input_shape(0);
  const Shape* b = context.input_shape(3);
  const DataType type = TypeOf(context, {0, 3, 7});
  if (a == nullptr || b == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const std::array<const Shape*, 2> both{a, b};
  std::optional<Shape> shape = Broadcast(both);
  if (!shape) return context.Fail(StrCat(Text(*a), " and ", Text(*b), " do not broadcast"));
  context.SetOutput(0, type, *std::move(shape));
  return {};
}

// X, its scale and zero point, those of the result.
Status InferQLinearUnary(InferContext& context) {
  PLIMSOLL_TRY(CheckPresent(context, {3}));
  PLIMSOLL_TRY(CheckSameType(context, {0, 2, 4}));
  return InferLikeFirst(context);
}

Status InferQLinearSoftmax(InferContext& context) {
  if (const Shape* data = context.input_shape(0)) {
    PLIMSOLL_TRY(AxisAttribute(context, -1, static_cast<int64_t>(data->size())).status());
  }
  return InferQLinearUnary(context);
}

// Scale and zero point of the result, then triples of a tensor, its scale and its zero point.
Status InferQLinearConcat(InferContext& context) {
  if (context.input_count() < 5 || context.input_count() % 3 != 2) {
    return context.Fail(StrCat(context.input_count(), " inputs are no triples behind two"));
  }
  const DataType type = TypeOf(context, {1, 2});
  const Shape* first = context.input_shape(2);
  if (first == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  if (context.attributes().Find("axis") == nullptr) return context.Fail("it names no axis");
  PLIMSOLL_ASSIGN(const int64_t axis,
                  AxisAttribute(context, 0, static_cast<int64_t>(first->size())));
  Shape made = *first;
  Dim total = 0;
  for (size_t i = 2; i < context.input_count(); i += 3) {
    const Shape* shape = context.input_shape(i);
    if (shape == nullptr) {
      total = context.UnknownDim(0, static_cast<size_t>(axis));
      break;
    }
    if (shape->size() != made.size()) {
      return context.Fail(
          StrCat("input ", i, " ", Text(*shape), " has another rank than ", Text(made)));
    }
    for (size_t at = 0; at < made.size(); ++at) {
      if (at == static_cast<size_t>(axis)) continue;
      PLIMSOLL_TRY(CheckEqual(context, "the axes that are not joined", made[at], (*shape)[at]));
      made[at] = Clearer(made[at], (*shape)[at]);
    }
    total = total + (*shape)[static_cast<size_t>(axis)];
  }
  made[static_cast<size_t>(axis)] = total;
  context.SetOutput(0, type, std::move(made));
  return {};
}

constexpr OperatorFacts kOverEither = {.in_place_inputs = Inputs(0, 3)};

constexpr OperatorRow kQLinearRows[] = {
    {kContributedDomain, "QLinearAdd", 1, kNewest, 2, 8, 1, 1, InferQLinearBinary, kOverEither},
    {kContributedDomain, "QLinearMul", 1, kNewest, 2, 8, 1, 1, InferQLinearBinary, kOverEither},
    {kContributedDomain, "QLinearSigmoid", 1, kNewest, 2, 5, 1, 1, InferQLinearUnary,
     kOverFirstInput},
    {kContributedDomain, "QLinearLeakyRelu", 1, kNewest, 2, 5, 1, 1, InferQLinearUnary,
     kOverFirstInput},
    {kContributedDomain, "QLinearSoftmax", 1, kNewest, 2, 5, 1, 1, InferQLinearSoftmax,
     kOverFirstInput},
    {kContributedDomain, "QLinearConcat", 1, kNewest, 5, kAny, 1, 1, InferQLinearConcat},
};

}  // namespace

std::span<const OperatorRow> QLinearRows() { return kQLinearRows; }

}  // namespace plimsoll::graph::operators
