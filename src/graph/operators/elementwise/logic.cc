#include <cmath>
#include <functional>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/element_math.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"

// Comparisons, choices and bits, element by element. Exporters compare sizes to pick between them
// (Equal, Where), so known elements are compared as well.
namespace plimsoll::graph::operators {
namespace {

struct Comparison {
  std::optional<bool> (*dims)(const Dim&, const Dim&) = nullptr;
  bool (*doubles)(double, double) = nullptr;
};

std::optional<Content> Compare(const Comparison& comparison, const Content& a, const Content& b) {
  std::vector<Dim> made;
  for (size_t i = 0; i < a.size(); ++i) {
    std::optional<bool> answer;
    if (a.dims() != nullptr && b.dims() != nullptr) {
      answer = comparison.dims((*a.dims())[i], (*b.dims())[i]);
    } else if (a.doubles() != nullptr && b.doubles() != nullptr && comparison.doubles != nullptr) {
      answer = comparison.doubles((*a.doubles())[i], (*b.doubles())[i]);
    }
    if (!answer) return std::nullopt;
    made.emplace_back(*answer ? 1 : 0);
  }
  return Content{std::move(made)};
}

template <const Comparison& kComparison>
Status InferComparison(InferContext& context) {
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType type, CommonType(context, 0, 2));
  PLIMSOLL_ASSIGN(const std::optional<Shape> shape, BroadcastInputs(context, 0, 2));
  SetTensor(context, 0, DataType::kBool, shape);
  const Content* a = KnownContent(context, 0);
  const Content* b = KnownContent(context, 1);
  if (!shape || !SmallCount(*shape) || a == nullptr || b == nullptr) return {};
  std::optional<Content> made =
      Compare(kComparison, Pick(*a, BroadcastPositions(*context.input_shape(0), *shape)),
              Pick(*b, BroadcastPositions(*context.input_shape(1), *shape)));
  if (made) context.SetContent(0, *std::move(made));
  return {};
}

std::optional<bool> Truth(const Dim& element) {
  if (!element.is_number()) return std::nullopt;
  return element.number() != 0;
}

template <typename Connective>
std::optional<bool> Connect(const Dim& a, const Dim& b) {
  const std::optional<bool> left = Truth(a);
  const std::optional<bool> right = Truth(b);
  if (!left || !right) return std::nullopt;
  return Connective()(*left, *right);
}

std::optional<bool> Opposite(std::optional<bool> answer) {
  return answer ? std::optional<bool>(!*answer) : std::nullopt;
}

constexpr Comparison kEqual{IsEqual, [](double a, double b) { return a == b; }};
constexpr Comparison kLess{IsLess, [](double a, double b) { return a < b; }};
constexpr Comparison kGreater{[](const Dim& a, const Dim& b) { return IsLess(b, a); },
                              [](double a, double b) { return a > b; }};
constexpr Comparison kLessOrEqual{[](const Dim& a, const Dim& b) { return Opposite(IsLess(b, a)); },
                                  [](double a, double b) { return a <= b; }};
constexpr Comparison kGreaterOrEqual{
    [](const Dim& a, const Dim& b) { return Opposite(IsLess(a, b)); },
    [](double a, double b) { return a >= b; }};
constexpr Comparison kAnd{Connect<std::logical_and<bool>>};
constexpr Comparison kOr{Connect<std::logical_or<bool>>};
constexpr Comparison kXor{Connect<std::not_equal_to<bool>>};

Status InferNot(InferContext& context) {
  PLIMSOLL_TRY(InferLikeFirst(context));
  const Content* content = KnownContent(context, 0);
  if (content == nullptr || content->dims() == nullptr || !IsStatic(*content->dims())) return {};
  std::vector<Dim> made;
  for (const Dim& element : *content->dims()) made.emplace_back(element.number() == 0 ? 1 : 0);
  context.SetContent(0, Content{std::move(made)});
  return {};
}

// IsNaN and IsInf.
Status InferPredicate(InferContext& context) {
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType type, CommonType(context, 0, 1));
  SetTensor(context, 0, DataType::kBool, context.input_type(0).shape);
  return {};
}

// Chooses element by element. Only the side that the condition names must be known.
std::optional<Content> Choose(const InferContext& context, const Shape& shape) {
  const Content* condition = KnownContent(context, 0);
  if (condition == nullptr || condition->dims() == nullptr || !SmallCount(shape)) {
    return std::nullopt;
  }
  const Content flags = Pick(*condition, BroadcastPositions(*context.input_shape(0), shape));
  std::optional<Content> sides[2];
  for (size_t side = 0; side < 2; ++side) {
    const Content* content = KnownContent(context, side + 1);
    if (content == nullptr) continue;
    sides[side] = Pick(*content, BroadcastPositions(*context.input_shape(side + 1), shape));
  }
  std::vector<Dim> dims;
  std::vector<double> doubles;
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::optional<bool> flag = Truth((*flags.dims())[i]);
    if (!flag) return std::nullopt;
    const std::optional<Content>& side = sides[*flag ? 0 : 1];
    if (!side) return std::nullopt;
    if (side->dims() != nullptr) {
      dims.push_back((*side->dims())[i]);
    } else {
      doubles.push_back((*side->doubles())[i]);
    }
  }
  if (dims.size() == flags.size()) return Content{std::move(dims)};
  if (doubles.size() == flags.size()) return Content{std::move(doubles)};
  return std::nullopt;
}

Status InferWhere(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType condition, CommonType(context, 0, 1));
  if (condition != DataType::kBool && condition != DataType::kUndefined) {
    return context.Fail(std::string("the condition is not bool but ").append(Name(condition)));
  }
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 1, 3));
  PLIMSOLL_ASSIGN(const std::optional<Shape> shape, BroadcastInputs(context, 0, 3));
  SetTensor(context, 0, type, shape);
  if (!shape) return {};
  if (std::optional<Content> chosen = Choose(context, *shape)) {
    context.SetContent(0, *std::move(chosen));
  }
  return {};
}

Status InferBits(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, context.input_count()));
  PLIMSOLL_ASSIGN(const std::optional<Shape> shape,
                  BroadcastInputs(context, 0, context.input_count()));
  SetTensor(context, 0, type, shape);
  return {};
}

constexpr OperatorRow kLogicRows[] = {
    {"", "Equal", 7, kNewest, 2, 2, 1, 1, InferComparison<kEqual>, kElementwise},
    {"", "Less", 7, kNewest, 2, 2, 1, 1, InferComparison<kLess>, kElementwise},
    {"", "Greater", 7, kNewest, 2, 2, 1, 1, InferComparison<kGreater>, kElementwise},
    {"", "LessOrEqual", 12, kNewest, 2, 2, 1, 1, InferComparison<kLessOrEqual>, kElementwise},
    {"", "GreaterOrEqual", 12, kNewest, 2, 2, 1, 1, InferComparison<kGreaterOrEqual>, kElementwise},
    {"", "And", 7, kNewest, 2, 2, 1, 1, InferComparison<kAnd>, kElementwise},
    {"", "Or", 7, kNewest, 2, 2, 1, 1, InferComparison<kOr>, kElementwise},
    {"", "Xor", 7, kNewest, 2, 2, 1, 1, InferComparison<kXor>, kElementwise},
    {"", "Not", 1, kNewest, 1, 1, 1, 1, InferNot, kElementwise},
    {"", "IsNaN", 9, kNewest, 1, 1, 1, 1, InferPredicate, kElementwise},
    {"", "IsInf", 10, kNewest, 1, 1, 1, 1, InferPredicate, kElementwise},
    {"", "Where", 9, kNewest, 3, 3, 1, 1, InferWhere, kElementwise},
    {"", "BitwiseAnd", 18, kNewest, 2, 2, 1, 1, InferBits, kElementwise},
    {"", "BitwiseOr", 18, kNewest, 2, 2, 1, 1, InferBits, kElementwise},
    {"", "BitwiseXor", 18, kNewest, 2, 2, 1, 1, InferBits, kElementwise},
    {"", "BitwiseNot", 18, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "BitShift", 11, kNewest, 2, 2, 1, 1, InferBits, kElementwise},
};

}  // namespace

std::span<const OperatorRow> LogicRows() { return kLogicRows; }

}  // namespace plimsoll::graph::operators
