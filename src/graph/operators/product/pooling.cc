#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "graph/operators/product/sliding_window.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

Status InferPool(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  PLIMSOLL_ASSIGN(const SlidingWindow window, ReadWindow(context));
  Shape lead{context.UnknownDim(0, 0), context.UnknownDim(0, 1)};
  if (const Shape* data = context.input_shape(0)) {
    PLIMSOLL_ASSIGN(Shape shape, Slide(context, window, *data, {(*data)[0], (*data)[1]}));
    lead = std::move(shape);
  } else {
    for (size_t axis = 2; axis < window.rank() + 2; ++axis) {
      lead.push_back(context.UnknownDim(0, axis));
    }
  }
  if (context.has_output(1)) context.SetOutput(1, DataType::kInt64, lead);
  context.SetOutput(0, context.input_data_type(0), std::move(lead));
  return {};
}

// The shape with its channels, which come last, behind the batch.
Shape ChannelsFirst(const Shape& shape) {
  Shape moved{shape.front(), shape.back()};
  moved.insert(moved.end(), shape.begin() + 1, shape.end() - 1);
  return moved;
}

Shape ChannelsLast(const Shape& shape) {
  Shape moved{shape.front()};
  moved.insert(moved.end(), shape.begin() + 2, shape.end());
  moved.push_back(shape[1]);
  return moved;
}

Status InferPoolOfLayout(InferContext& context, bool channels_last) {
  if (!channels_last) return InferPool(context);
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 3));
  PLIMSOLL_ASSIGN(const SlidingWindow window, ReadWindow(context));
  std::optional<Shape> shape;
  if (const Shape* data = context.input_shape(0)) {
    const Shape first = ChannelsFirst(*data);
    PLIMSOLL_ASSIGN(const Shape made, Slide(context, window, first, {first[0], first[1]}));
    shape = ChannelsLast(made);
  }
  SetTensor(context, 0, context.input_data_type(0), shape);
  return {};
}

Status InferNhwcMaxPool(InferContext& context) { return InferPoolOfLayout(context, true); }

// X, its scale and zero point, those of the result.
Status InferQLinearPool(InferContext& context) {
  PLIMSOLL_TRY(CheckPresent(context, {3}));
  PLIMSOLL_TRY(CheckSameType(context, {0, 2, 4}));
  return InferPoolOfLayout(context, context.attributes().Int("channels_last", 0) != 0);
}

Status InferQLinearGlobalPool(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2, 4}));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  std::optional<Shape> shape;
  if (const Shape* data = context.input_shape(0)) {
    const size_t channels =
        context.attributes().Int("channels_last", 0) != 0 ? data->size() - 1 : 1;
    shape = Shape(data->size(), 1);
    (*shape)[0] = (*data)[0];
    (*shape)[channels] = (*data)[channels];
  }
  SetTensor(context, 0, context.input_data_type(0), shape);
  return {};
}

Status InferGlobalPool(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  std::optional<Shape> shape;
  if (const Shape* data = context.input_shape(0)) {
    shape = Shape(data->size(), 1);
    (*shape)[0] = (*data)[0];
    (*shape)[1] = (*data)[1];
  }
  SetTensor(context, 0, context.input_data_type(0), shape);
  return {};
}

Status InferMaxUnpool(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  PLIMSOLL_ASSIGN(const SlidingWindow window, ReadWindow(context));
  const Shape* data = context.input_shape(0);
  const Shape* indices = context.input_shape(1);
  const size_t rank = window.rank() + 2;
  for (const Shape* shape : {data, indices}) {
    if (shape != nullptr && shape->size() != rank) {
      return context.Fail(StrCat("the window has ", window.rank(), " dimensions, but an input is ",
                                 Text(*shape), " with batch and channels"));
    }
  }
  Shape shape;
  const std::vector<Dim>* wanted = context.input_dims(2);
  if (wanted != nullptr && wanted->size() != rank) {
    return context.Fail(
        StrCat("output_shape has ", wanted->size(), " dimensions where ", rank, " are needed"));
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    if (wanted != nullptr) {
      shape.push_back((*wanted)[axis]);
    } else if (data == nullptr || context.has_input(2)) {
      shape.push_back(context.UnknownDim(0, axis));
    } else if (axis < 2) {
      shape.push_back((*data)[axis]);
    } else {
      shape.push_back(((*data)[axis] - 1) * window.strides[axis - 2] + window.kernel[axis - 2] -
                      window.Pads(axis - 2));
    }
    if (shape.back().is_number() && shape.back().number() < 0) {
      return context.Fail(
          StrCat("axis ", axis, " of the output would have size ", shape.back().number()));
    }
  }
  context.SetOutput(0, context.input_data_type(0), std::move(shape));
  return {};
}

// Regions of interest, one per output image: [regions, channels, height, width].
Status InferRegions(InferContext& context, Dim regions, int64_t height, int64_t width) {
  if (height < 1 || width < 1) {
    return context.Fail(StrCat("the pooled size is ", height, " by ", width));
  }
  context.SetOutput(
      0, TypeOf(context, {0, 1}),
      {std::move(regions), DimOf(context, 0, 1).value_or(context.UnknownDim(0, 1)), height, width});
  return {};
}

Status InferRoiAlign(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1}));
  PLIMSOLL_TRY(CheckRank(context, 0, 4));
  PLIMSOLL_TRY(CheckRank(context, 1, 2));
  PLIMSOLL_TRY(CheckRank(context, 2, 1));
  const Dim unknown = context.UnknownDim(0, 0);
  const Dim regions = DimOf(context, 1, 0).value_or(unknown);
  const Dim batches = DimOf(context, 2, 0).value_or(unknown);
  PLIMSOLL_TRY(CheckEqual(context, "the regions and their batch indices", regions, batches));
  return InferRegions(context, Clearer(regions, batches),
                      context.attributes().Int("output_height", 1),
                      context.attributes().Int("output_width", 1));
}

Status InferMaxRoiPool(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1}));
  PLIMSOLL_TRY(CheckRank(context, 0, 4));
  PLIMSOLL_TRY(CheckRank(context, 1, 2));
  const std::vector<int64_t>* pooled = context.attributes().Ints("pooled_shape");
  if (pooled == nullptr || pooled->size() != 2) {
    return context.Fail("attribute pooled_shape must hold height and width");
  }
  return InferRegions(context, DimOf(context, 1, 0).value_or(context.UnknownDim(0, 0)),
                      (*pooled)[0], (*pooled)[1]);
}

// Only the places that the indices name are written.
void ClearPooled(const Node&, MemoryAttributes& attributes) { attributes.needs_clearing = {0}; }

constexpr OperatorFacts kUnpool = {.host_inputs = Inputs(2), .memory = ClearPooled};

constexpr OperatorRow kPoolingRows[] = {
    {"", "AveragePool", 7, kNewest, 1, 1, 1, 1, InferPool},
    {"", "MaxPool", 1, 7, 1, 1, 1, 1, InferPool},
    {"", "MaxPool", 8, kNewest, 1, 1, 1, 2, InferPool},
    {"", "LpPool", 2, kNewest, 1, 1, 1, 1, InferPool},
    {"", "GlobalAveragePool", 1, kNewest, 1, 1, 1, 1, InferGlobalPool},
    {"", "GlobalMaxPool", 1, kNewest, 1, 1, 1, 1, InferGlobalPool},
    {"", "GlobalLpPool", 2, kNewest, 1, 1, 1, 1, InferGlobalPool},
    {"", "MaxUnpool", 9, kNewest, 2, 3, 1, 1, InferMaxUnpool, kUnpool},
    {"", "RoiAlign", 10, kNewest, 3, 3, 1, 1, InferRoiAlign},
    {"", "MaxRoiPool", 1, kNewest, 2, 2, 1, 1, InferMaxRoiPool},
    {kContributedDomain, "NhwcMaxPool", 1, kNewest, 1, 1, 1, 1, InferNhwcMaxPool},
    {kContributedDomain, "QLinearAveragePool", 1, kNewest, 2, 5, 1, 1, InferQLinearPool},
    {kContributedDomain, "QLinearGlobalAveragePool", 1, kNewest, 5, 5, 1, 1,
     InferQLinearGlobalPool},
};

}  // namespace

std::span<const OperatorRow> PoolingRows() { return kPoolingRows; }

}  // namespace plimsoll::graph::operators
