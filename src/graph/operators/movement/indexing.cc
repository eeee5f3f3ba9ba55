#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Elements and slices fetched by index.
namespace plimsoll::graph::operators {
namespace {

// The picks along the axis, where indices are known and inside it. An index outside is an error of
// the run, if that node ever runs.
std::optional<std::vector<int64_t>> PicksAlong(const InferContext& context, int64_t length) {
  std::optional<std::vector<int64_t>> indices = context.input_integers(1);
  if (!indices) return std::nullopt;
  for (int64_t& index : *indices) {
    const std::optional<int64_t> place = NormalizeAxis(index, length);
    if (!place) return std::nullopt;
    index = *place;
  }
  return indices;
}

void GatherContent(InferContext& context, const Shape& made, int64_t axis) {
  const Content* content = KnownContent(context, 0);
  if (content == nullptr || KnownContent(context, 1) == nullptr) return;
  if (SmallCount(made).value_or(0) == 0) return;
  const Shape& shape = *context.input_shape(0);
  const auto picks = PicksAlong(context, shape[axis].number());
  if (!picks) return;
  int64_t outer = 1;
  int64_t inner = 1;
  for (int64_t i = 0; i < axis; ++i) outer *= shape[i].number();
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i].number();
  std::vector<int64_t> positions;
  for (int64_t block = 0; block < outer; ++block) {
    for (const int64_t pick : *picks) {
      const int64_t first = (block * shape[axis].number() + pick) * inner;
      for (int64_t i = 0; i < inner; ++i) positions.push_back(first + i);
    }
  }
  context.SetContent(0, Pick(*content, positions));
}

Status InferGather(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType index, CommonType(context, 1, 2));
  const Shape* shape = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (shape == nullptr || indices == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  PLIMSOLL_ASSIGN(const int64_t axis,
                  AxisAttribute(context, 0, static_cast<int64_t>(shape->size())));
  Shape made(shape->begin(), shape->begin() + axis);
  made.insert(made.end(), indices->begin(), indices->end());
  made.insert(made.end(), shape->begin() + axis + 1, shape->end());
  context.SetOutput(0, type, made);
  GatherContent(context, made, axis);
  return {};
}

Status InferGatherElements(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType index, CommonType(context, 1, 2));
  const Shape* shape = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (shape != nullptr) {
    PLIMSOLL_ASSIGN([[maybe_unused]] const int64_t axis,
                    AxisAttribute(context, 0, static_cast<int64_t>(shape->size())));
  }
  if (shape != nullptr && indices != nullptr && shape->size() != indices->size()) {
    return context.Fail(
        StrCat("data ", Text(*shape), " and indices ", Text(*indices), " differ in rank"));
  }
  SetTensor(context, 0, type, context.input_type(1).shape);
  return {};
}

Status InferGatherNd(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 1));
  PLIMSOLL_ASSIGN([[maybe_unused]] const DataType index, CommonType(context, 1, 2));
  const Shape* shape = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  if (shape == nullptr || indices == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  if (shape->empty() || indices->empty()) {
    return context.Fail(
        StrCat("data ", Text(*shape), " and indices ", Text(*indices), " must each have an axis"));
  }
  const int64_t batches = context.attributes().Int("batch_dims", 0);
  const auto rank = static_cast<int64_t>(shape->size());
  if (batches < 0 || batches >= rank || batches >= static_cast<int64_t>(indices->size())) {
    return context.Fail(StrCat("batch_dims ", batches, " does not fit data ", Text(*shape),
                               " and indices ", Text(*indices)));
  }
  if (!indices->back().is_number()) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const int64_t depth = indices->back().number();
  if (depth < 0 || depth > rank - batches) {
    return context.Fail(StrCat("an index of ", depth, " parts is too long for ", Text(*shape)));
  }
  Shape made(indices->begin(), indices->end() - 1);
  made.insert(made.end(), shape->begin() + batches + depth, shape->end());
  context.SetOutput(0, type, std::move(made));
  return {};
}

constexpr OperatorFacts kIndex = {.view = View::kIndex};

constexpr OperatorRow kIndexingRows[] = {
    {"", "Gather", 1, kNewest, 2, 2, 1, 1, InferGather, kIndex},
    {"", "GatherElements", 11, kNewest, 2, 2, 1, 1, InferGatherElements},
    {"", "GatherND", 11, kNewest, 2, 2, 1, 1, InferGatherNd},
};

}  // namespace

std::span<const OperatorRow> IndexingRows() { return kIndexingRows; }

}  // namespace plimsoll::graph::operators
