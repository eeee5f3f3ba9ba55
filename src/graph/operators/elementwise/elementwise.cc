#include <cmath>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/element_math.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"

// Arithmetic element by element: inputs of one type that broadcast, or one input of any shape.
// Shape arithmetic runs through here, so known elements are computed as well.
namespace plimsoll::graph::operators {
namespace {

// How two elements make one. Floating-point operations are listed where IEEE fixes the result.
struct PairOperation {
  std::optional<Dim> (*dims)(const Dim&, const Dim&) = nullptr;
  double (*doubles)(double, double) = nullptr;
};

struct SingleOperation {
  std::optional<Dim> (*dims)(const Dim&) = nullptr;
  double (*doubles)(double) = nullptr;
};

std::optional<Content> Apply(const PairOperation& operation, const Content& a, const Content& b) {
  if (a.dims() != nullptr && b.dims() != nullptr && operation.dims != nullptr) {
    std::vector<Dim> made;
    for (size_t i = 0; i < a.size(); ++i) {
      std::optional<Dim> element = operation.dims((*a.dims())[i], (*b.dims())[i]);
      if (!element) return std::nullopt;
      made.push_back(*std::move(element));
    }
    return Content{std::move(made)};
  }
  if (a.doubles() != nullptr && b.doubles() != nullptr && operation.doubles != nullptr) {
    std::vector<double> made;
    for (size_t i = 0; i < a.size(); ++i) {
      made.push_back(operation.doubles((*a.doubles())[i], (*b.doubles())[i]));
    }
    return Content{std::move(made)};
  }
  return std::nullopt;
}

// Combines the inputs from left to right, each spread to the shape of the output.
void FoldContent(InferContext& context, const PairOperation& operation, DataType type,
                 const Shape& shape) {
  if (!SmallCount(shape)) return;
  std::optional<Content> folded;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const Content* content = KnownContent(context, i);
    if (content == nullptr) return;
    Content spread = Pick(*content, BroadcastPositions(*context.input_shape(i), shape));
    folded = i == 0 ? std::move(spread) : Apply(operation, *folded, spread);
    if (!folded) return;
  }
  if (folded) OfferContent(context, 0, type, *std::move(folded));
}

Status InferBroadcast(InferContext& context, const PairOperation& operation) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, context.input_count()));
  PLIMSOLL_ASSIGN(const std::optional<Shape> shape,
                  BroadcastInputs(context, 0, context.input_count()));
  SetTensor(context, 0, type, shape);
  if (shape) FoldContent(context, operation, type, *shape);
  return {};
}

template <const PairOperation& kOperation>
Status InferFold(InferContext& context) {
  return InferBroadcast(context, kOperation);
}

Status InferMod(InferContext& context) {
  static constexpr PairOperation kFloored{.dims = Remainder};
  static constexpr PairOperation kTruncated{.dims = TruncatedRemainder, .doubles = std::fmod};
  return InferBroadcast(context, context.attributes().Int("fmod", 0) != 0 ? kTruncated : kFloored);
}

// From version 12 on the exponent has a type of its own.
Status InferPow(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType exponent, CommonType(context, 1, 2));
  PLIMSOLL_ASSIGN(const std::optional<Shape> shape, BroadcastInputs(context, 0, 2));
  SetTensor(context, 0, type, shape);
  static constexpr PairOperation kPower{.dims = Power, .doubles = std::pow};
  if (shape) FoldContent(context, kPower, type, *shape);
  return {};
}

Status InferSingle(InferContext& context, const SingleOperation& operation) {
  PLIMSOLL_TRY(InferLikeFirst(context));
  const Content* content = KnownContent(context, 0);
  if (content == nullptr) return {};
  if (content->dims() != nullptr && operation.dims != nullptr) {
    std::vector<Dim> made;
    for (const Dim& element : *content->dims()) {
      std::optional<Dim> result = operation.dims(element);
      if (!result) return {};
      made.push_back(*std::move(result));
    }
    OfferContent(context, 0, context.input_data_type(0), Content{std::move(made)});
  } else if (content->doubles() != nullptr && operation.doubles != nullptr) {
    std::vector<double> made;
    for (const double element : *content->doubles()) made.push_back(operation.doubles(element));
    OfferContent(context, 0, context.input_data_type(0), Content{std::move(made)});
  }
  return {};
}

template <const SingleOperation& kOperation>
Status InferEach(InferContext& context) {
  return InferSingle(context, kOperation);
}

constexpr PairOperation kAdd{Add, [](double a, double b) { return a + b; }};
constexpr PairOperation kSubtract{Subtract, [](double a, double b) { return a - b; }};
constexpr PairOperation kMultiply{Multiply, [](double a, double b) { return a * b; }};
constexpr PairOperation kDivide{Divide, [](double a, double b) { return a / b; }};
constexpr PairOperation kLarger{Larger, [](double a, double b) { return a < b ? b : a; }};
constexpr PairOperation kSmaller{Smaller, [](double a, double b) { return b < a ? b : a; }};
constexpr PairOperation kNoContent{};

constexpr SingleOperation kNegative{Negative, [](double a) { return -a; }};
constexpr SingleOperation kAbsolute{Absolute, std::fabs};
constexpr SingleOperation kSign{Sign, [](double a) { return double((a > 0) - (a < 0)); }};
constexpr SingleOperation kFloor{nullptr, std::floor};
constexpr SingleOperation kCeil{nullptr, std::ceil};
constexpr SingleOperation kRound{nullptr, std::nearbyint};
constexpr SingleOperation kSquareRoot{nullptr, std::sqrt};
constexpr SingleOperation kReciprocal{nullptr, [](double a) { return 1 / a; }};

constexpr OperatorRow kElementwiseRows[] = {
    {"", "Add", 7, kNewest, 2, 2, 1, 1, InferFold<kAdd>, kElementwiseKeepsZero},
    {"", "Sub", 7, kNewest, 2, 2, 1, 1, InferFold<kSubtract>, kElementwiseKeepsZero},
    {"", "Mul", 7, kNewest, 2, 2, 1, 1, InferFold<kMultiply>, kElementwiseKeepsZero},
    {"", "Div", 7, kNewest, 2, 2, 1, 1, InferFold<kDivide>, kElementwise},
    {"", "Mod", 10, kNewest, 2, 2, 1, 1, InferMod, kElementwise},
    {"", "Pow", 7, 11, 2, 2, 1, 1, InferFold<kNoContent>, kElementwise},
    {"", "Pow", 12, kNewest, 2, 2, 1, 1, InferPow, kElementwise},
    {"", "Max", 6, kNewest, 1, kAny, 1, 1, InferFold<kLarger>, kElementwiseKeepsZero},
    {"", "Min", 6, kNewest, 1, kAny, 1, 1, InferFold<kSmaller>, kElementwiseKeepsZero},
    {"", "Sum", 6, kNewest, 1, kAny, 1, 1, InferFold<kAdd>, kElementwiseKeepsZero},
    {"", "Mean", 6, kNewest, 1, kAny, 1, 1, InferFold<kNoContent>, kElementwiseKeepsZero},

    {"", "Neg", 6, kNewest, 1, 1, 1, 1, InferEach<kNegative>, kElementwiseKeepsZero},
    {"", "Abs", 6, kNewest, 1, 1, 1, 1, InferEach<kAbsolute>, kElementwiseKeepsZero},
    {"", "Sign", 9, kNewest, 1, 1, 1, 1, InferEach<kSign>, kElementwiseKeepsZero},
    {"", "Floor", 6, kNewest, 1, 1, 1, 1, InferEach<kFloor>, kElementwiseKeepsZero},
    {"", "Ceil", 6, kNewest, 1, 1, 1, 1, InferEach<kCeil>, kElementwiseKeepsZero},
    {"", "Round", 11, kNewest, 1, 1, 1, 1, InferEach<kRound>, kElementwiseKeepsZero},
    {"", "Sqrt", 6, kNewest, 1, 1, 1, 1, InferEach<kSquareRoot>, kElementwiseKeepsZero},
    {"", "Reciprocal", 6, kNewest, 1, 1, 1, 1, InferEach<kReciprocal>, kElementwise},

    {"", "Acos", 7, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Acosh", 9, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Asin", 7, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Asinh", 9, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Atan", 7, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Atanh", 9, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Cos", 7, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Cosh", 9, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Erf", 9, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Exp", 6, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Log", 6, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Sin", 7, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Sinh", 9, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Tan", 7, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Tanh", 6, kNewest, 1, 1, 1, 1, InferLikeFirst, kActivation},
};

}  // namespace

std::span<const OperatorRow> ElementwiseRows() { return kElementwiseRows; }

}  // namespace plimsoll::graph::operators
