#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "graph/operators/movement/resize.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Data [batch, channels, places...] read at grid [batch, places..., coordinates]. One image may
// serve all grids: what repeats it is left out of the graph (compile/passes/no_ops.h).
Status InferGridSample(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 3));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 1, 3));
  const DataType type = context.input_data_type(0);
  const Shape* data = context.input_shape(0);
  const Shape* grid = context.input_shape(1);
  if (data != nullptr && grid != nullptr) {
    if (data->size() != grid->size()) {
      return context.Fail(
          StrCat("the data ", Text(*data), " and the grid ", Text(*grid), " differ in rank"));
    }
    PLIMSOLL_TRY(CheckEqual(context, "the coordinates of the grid and the places of the data",
                            grid->back(), static_cast<int64_t>(data->size()) - 2));
    if (data->front() != Dim(1)) {
      PLIMSOLL_TRY(
          CheckEqual(context, "the batches of data and grid", data->front(), grid->front()));
    }
  }
  const Shape* known = grid != nullptr ? grid : data;
  if (known == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  Shape shape;
  for (size_t axis = 0; axis < known->size(); ++axis) shape.push_back(context.UnknownDim(0, axis));
  if (grid != nullptr) {
    shape[0] = grid->front();
    for (size_t axis = 2; axis < shape.size(); ++axis) shape[axis] = (*grid)[axis - 1];
  }
  if (data != nullptr) {
    if (data->front() != Dim(1)) shape[0] = Clearer(data->front(), shape[0]);
    shape[1] = (*data)[1];
  }
  context.SetOutput(0, type, std::move(shape));
  return {};
}

// Theta [batch, 2, 3] or [batch, 3, 4] and the size [batch, channels, places...] of the image.
Status InferAffineGrid(InferContext& context) {
  PLIMSOLL_TRY(CheckRank(context, 0, 3));
  PLIMSOLL_TRY(CheckRank(context, 1, 1));
  const std::vector<Dim>* size = context.input_dims(1);
  std::optional<Dim> rank = DimOf(context, 1, 0);
  if (size != nullptr) rank = Dim(static_cast<int64_t>(size->size()));
  if (!rank || !rank->is_number()) {
    context.SetOutputOfUnknownRank(0, context.input_data_type(0));
    return {};
  }
  if (rank->number() != 4 && rank->number() != 5) {
    return context.Fail(StrCat("the size must have 4 or 5 elements, but has ", rank->number()));
  }
  const int64_t places = rank->number() - 2;
  if (const std::optional<Dim> rows = DimOf(context, 0, 1)) {
    PLIMSOLL_TRY(
        CheckEqual(context, "the rows of theta and the places of the size", *rows, places));
  }
  Shape shape{DimOf(context, 0, 0).value_or(context.UnknownDim(0, 0))};
  if (size != nullptr) shape[0] = Clearer(size->front(), shape[0]);
  for (size_t axis = 1; axis <= static_cast<size_t>(places); ++axis) {
    shape.push_back(size != nullptr ? (*size)[axis + 1] : context.UnknownDim(0, axis));
    if (shape.back().is_number() && shape.back().number() < 0) {
      return context.Fail(StrCat("the size holds ", shape.back().number()));
    }
  }
  shape.push_back(places);
  context.SetOutput(0, context.input_data_type(0), std::move(shape));
  return {};
}

// A file's bytes to [height, width, channels]; only the file tells the size.
Status InferImageDecoder(InferContext& context) {
  PLIMSOLL_TRY(CheckRank(context, 0, 1));
  const bool gray = context.attributes().String("pixel_format", "RGB") == "Grayscale";
  context.SetOutput(0, DataType::kUint8,
                    {context.UnknownDim(0, 0), context.UnknownDim(0, 1), gray ? 1 : 3});
  return {};
}

constexpr OperatorRow kImageRows[] = {
    {"", "Resize", 10, 10, 2, 2, 1, 1, InferResizeByScales, HostInputs(1)},
    {"", "Resize", 11, kNewest, 1, 4, 1, 1, InferResize, HostInputs(1, 2, 3)},
    {"", "Upsample", 7, 8, 1, 1, 1, 1, InferUpsampleByAttribute},
    {"", "Upsample", 9, kNewest, 2, 2, 1, 1, InferResizeByScales, HostInputs(1)},
    {"", "GridSample", 16, kNewest, 2, 2, 1, 1, InferGridSample},
    {"", "AffineGrid", 20, kNewest, 2, 2, 1, 1, InferAffineGrid, HostInputs(1)},
    {"", "ImageDecoder", 20, kNewest, 1, 1, 1, 1, InferImageDecoder, HostInputs(0)},
};

}  // namespace

std::span<const OperatorRow> ImageRows() { return kImageRows; }

}  // namespace plimsoll::graph::operators
