#include <algorithm>
#include <cmath>
#include <set>

#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Operators whose output size depends on data. The size is an unknown dimension unless the data is
// known content.
namespace plimsoll::graph::operators {
namespace {

// The elements of an input as numbers to compare, where all are known.
std::optional<std::vector<double>> KnownNumbers(const InferContext& context, size_t input) {
  if (KnownContent(context, input) == nullptr) return std::nullopt;
  return context.input_doubles(input);
}

Status InferNonZero(InferContext& context) {
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  Dim found = context.UnknownDim(0, 1);
  const auto numbers = KnownNumbers(context, 0);
  if (numbers) {
    found = static_cast<int64_t>(
        std::count_if(numbers->begin(), numbers->end(), [](double x) { return x != 0; }));
  }
  const Dim rank =
      shape == nullptr ? context.UnknownDim(0, 0) : Dim(static_cast<int64_t>(shape->size()));
  context.SetOutput(0, DataType::kInt64, {rank, found});
  if (!numbers) return {};
  const std::vector<int64_t> strides = Strides(*shape);
  std::vector<Dim> indices;
  for (size_t axis = 0; axis < shape->size(); ++axis) {
    for (size_t i = 0; i < numbers->size(); ++i) {
      if ((*numbers)[i] == 0) continue;
      indices.emplace_back(static_cast<int64_t>(i) / strides[axis] % (*shape)[axis].number());
    }
  }
  OfferContent(context, 0, DataType::kInt64, Content{std::move(indices)});
  return {};
}

// How many of the first `length` flags are set; flags beyond the axis pick nothing.
Dim CountFlags(const InferContext& context, const Dim& length, const Dim& otherwise) {
  const auto flags = KnownNumbers(context, 1);
  if (!flags || !length.is_number()) return otherwise;
  const auto seen = std::min<int64_t>(static_cast<int64_t>(flags->size()), length.number());
  return static_cast<int64_t>(std::count_if(flags->begin(),
                                            flags->begin() + std::max<int64_t>(seen, 0),
                                            [](double x) { return x != 0; }));
}

Status InferCompress(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType condition, CommonType(context, 1, 2));
  const Shape* shape = context.input_shape(0);
  if (context.attributes().Find("axis") == nullptr) {
    const Dim unknown = context.UnknownDim(0, 0);
    context.SetOutput(
        0, type, {shape == nullptr ? unknown : CountFlags(context, ElementCount(*shape), unknown)});
    return {};
  }
  if (shape == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  PLIMSOLL_ASSIGN(const int64_t axis,
                  AxisAttribute(context, 0, static_cast<int64_t>(shape->size())));
  Shape made = *shape;
  made[axis] = CountFlags(context, (*shape)[axis], context.UnknownDim(0, axis));
  context.SetOutput(0, type, std::move(made));
  return {};
}

// How many different slices an axis has; all elements are slices of their own without an axis.
std::optional<Dim> CountDistinct(const InferContext& context, std::optional<int64_t> axis) {
  const auto numbers = KnownNumbers(context, 0);
  constexpr double kExact = 9007199254740992.0;  // 2^53: larger integers may collide as doubles
  if (!numbers || numbers->empty()) return std::nullopt;
  for (const double number : *numbers) {
    if (!(std::abs(number) < kExact)) return std::nullopt;
  }
  if (!axis) return Dim(static_cast<int64_t>(std::set(numbers->begin(), numbers->end()).size()));
  const Shape& shape = *context.input_shape(0);
  Shape slice = shape;
  slice[*axis] = 1;
  const std::vector<int64_t> strides = Strides(shape);
  std::set<std::vector<double>> distinct;
  for (int64_t i = 0; i < shape[*axis].number(); ++i) {
    std::vector<double> elements;
    for (const int64_t at : StridedPositions(slice, strides, i * strides[*axis])) {
      elements.push_back((*numbers)[at]);
    }
    distinct.insert(std::move(elements));
  }
  return Dim(static_cast<int64_t>(distinct.size()));
}

Status InferUnique(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  std::optional<int64_t> axis;
  if (shape != nullptr && context.attributes().Find("axis") != nullptr) {
    PLIMSOLL_ASSIGN(axis, AxisAttribute(context, 0, static_cast<int64_t>(shape->size())));
  }
  const Dim count = CountDistinct(context, axis).value_or(context.UnknownDim(0, axis ? *axis : 0));
  Dim total = context.UnknownDim(2, 0);
  if (shape != nullptr) total = axis ? (*shape)[*axis] : ElementCount(*shape);
  if (shape == nullptr && context.attributes().Find("axis") != nullptr) {
    context.SetOutputOfUnknownRank(0, type);
  } else {
    Shape made = axis ? *shape : Shape{count};
    if (axis) made[*axis] = count;
    context.SetOutput(0, type, std::move(made));
  }
  context.SetOutput(1, DataType::kInt64, {count});
  context.SetOutput(2, DataType::kInt64, {total});
  context.SetOutput(3, DataType::kInt64, {count});
  return {};
}

// One row a box kept: batch, class, box.
Status InferNonMaxSuppression(InferContext& context) {
  for (const size_t input : {0, 1}) {
    const Shape* shape = context.input_shape(input);
    if (shape != nullptr && shape->size() != 3) {
      return context.Fail(StrCat("input ", input, " ", Text(*shape), " is not of rank 3"));
    }
  }
  context.SetOutput(0, DataType::kInt64, {context.UnknownDim(0, 0), Dim(3)});
  return {};
}

constexpr OperatorRow kSelectionRows[] = {
    {"", "NonZero", 9, kNewest, 1, 1, 1, 1, InferNonZero},
    {"", "Compress", 9, kNewest, 2, 2, 1, 1, InferCompress},
    {"", "Unique", 11, kNewest, 1, 1, 1, 4, InferUnique},
    {"", "NonMaxSuppression", 10, kNewest, 2, 5, 1, 1, InferNonMaxSuppression, HostInputs(2, 3, 4)},
};

}  // namespace

std::span<const OperatorRow> SelectionRows() { return kSelectionRows; }

}  // namespace plimsoll::graph::operators
