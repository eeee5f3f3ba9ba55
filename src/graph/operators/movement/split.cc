#include <algorithm>

#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// A tensor cut into consecutive parts along one axis.
namespace plimsoll::graph::operators {
namespace {

// The sizes of the parts as the node gives them: `given` with no sizes means not known yet.
struct SplitSizes {
  bool given = false;
  std::optional<std::vector<Dim>> sizes;
};

SplitSizes ReadSizes(const InferContext& context) {
  if (const auto* sizes = context.attributes().Ints("split")) return {true, ShapeOf(*sizes)};
  if (!context.has_input(1)) return {};
  const std::vector<Dim>* sizes = context.input_dims(1);
  return {true, sizes == nullptr ? std::nullopt : std::optional(*sizes)};
}

// Parts of one size. Since version 18 the last one may be smaller.
Result<std::vector<Dim>> EqualSizes(const InferContext& context, const Dim& length) {
  const auto parts = static_cast<int64_t>(context.output_count());
  if (std::optional<Dim> even = Dim::ExactDiv(length, parts)) {
    return std::vector<Dim>(static_cast<size_t>(parts), *even);
  }
  const bool uneven_allowed = context.version() >= 18;
  if (length.is_number() && !uneven_allowed) {
    return context.Fail(
        StrCat(length.number(), " elements do not split into ", parts, " equal parts"));
  }
  if (!uneven_allowed) {
    return std::vector<Dim>(static_cast<size_t>(parts), Dim::FloorDiv(length, parts));
  }
  const Dim size = Dim::CeilDiv(length, parts);
  std::vector<Dim> sizes;
  Dim rest = length;
  for (int64_t i = 0; i < parts; ++i) {
    const bool certain = !length.is_number() && i + 1 < parts;
    sizes.push_back(certain ? size : Dim::Max(Dim::Min(size, rest), 0));
    rest = rest - sizes.back();
  }
  return sizes;
}

Status CheckSizes(const InferContext& context, const std::vector<Dim>& sizes, const Dim& length) {
  if (sizes.size() != context.output_count()) {
    return context.Fail(
        StrCat("there are ", sizes.size(), " sizes for ", context.output_count(), " outputs"));
  }
  Dim sum = 0;
  for (const Dim& size : sizes) {
    if (size.is_number() && size.number() < 0) {
      return context.Fail(StrCat("the sizes ", Text(sizes), " are not all positive"));
    }
    sum = sum + size;
  }
  if (sum.is_number() && length.is_number() && sum != length) {
    return context.Fail(StrCat("the sizes ", Text(sizes), " add up to ", sum.number(), ", not to ",
                               length.number()));
  }
  return {};
}

void SplitContent(InferContext& context, const std::vector<Dim>& sizes, int64_t axis) {
  const Content* content = KnownContent(context, 0);
  if (content == nullptr || content->size() == 0 || !IsStatic(sizes)) return;
  const Shape& shape = *context.input_shape(0);
  const std::vector<int64_t> strides = Strides(shape);
  int64_t first = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape part = shape;
    part[axis] = sizes[i];
    context.SetContent(i, Pick(*content, StridedPositions(part, strides, first)));
    first += strides[axis] * sizes[i].number();
  }
}

Status InferSplit(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  const Shape* shape = context.input_shape(0);
  if (shape == nullptr) {
    for (size_t i = 0; i < context.output_count(); ++i) context.SetOutputOfUnknownRank(i, type);
    return {};
  }
  PLIMSOLL_ASSIGN(const int64_t axis,
                  AxisAttribute(context, 0, static_cast<int64_t>(shape->size())));
  const int64_t parts = context.attributes().Int("num_outputs", -1);
  if (parts != -1 && parts != static_cast<int64_t>(context.output_count())) {
    return context.Fail(
        StrCat("num_outputs is ", parts, " but there are ", context.output_count(), " outputs"));
  }
  SplitSizes split = ReadSizes(context);
  if (!split.given) {
    PLIMSOLL_ASSIGN(split.sizes, EqualSizes(context, (*shape)[axis]));
  } else if (split.sizes) {
    PLIMSOLL_TRY(CheckSizes(context, *split.sizes, (*shape)[axis]));
  }
  for (size_t i = 0; i < context.output_count(); ++i) {
    Shape part = *shape;
    part[axis] = split.sizes ? (*split.sizes)[i] : context.UnknownDim(i, axis);
    context.SetOutput(i, type, std::move(part));
  }
  if (split.sizes) SplitContent(context, *split.sizes, axis);
  return {};
}

constexpr OperatorFacts kSplitByAttribute = {.view = View::kSplit};
constexpr OperatorFacts kSplit = {.view = View::kSplit, .host_inputs = Inputs(1)};

constexpr OperatorRow kSplitRows[] = {
    {"", "Split", 2, 12, 1, 1, 1, kAny, InferSplit, kSplitByAttribute},
    {"", "Split", 13, kNewest, 1, 2, 1, kAny, InferSplit, kSplit},
};

}  // namespace

std::span<const OperatorRow> SplitRows() { return kSplitRows; }

}  // namespace plimsoll::graph::operators
