#include "graph/operators/agreement.h"
#include "graph/operators/families.h"

namespace plimsoll::graph::operators {
namespace {

// Image [batch, channels, height, width], boxes [crops, 4], the image of each, and the size of all
// crops, which comes as an input.
Status InferCropAndResize(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1}));
  PLIMSOLL_TRY(CheckRank(context, 0, 4));
  PLIMSOLL_TRY(CheckRank(context, 1, 2));
  PLIMSOLL_TRY(CheckRank(context, 2, 1));
  PLIMSOLL_TRY(CheckVector(context, 3, 2));
  const Dim unknown = context.UnknownDim(0, 0);
  const Dim boxes = DimOf(context, 1, 0).value_or(unknown);
  const Dim images = DimOf(context, 2, 0).value_or(unknown);
  PLIMSOLL_TRY(CheckEqual(context, "the boxes and their images", boxes, images));
  const std::vector<Dim>* size = context.input_dims(3);
  const auto side = [&](size_t axis) {
    return size != nullptr && size->size() == 2 ? (*size)[axis] : context.UnknownDim(0, axis + 2);
  };
  context.SetOutput(0, TypeOf(context, {0, 1}),
                    {Clearer(boxes, images),
                     DimOf(context, 0, 1).value_or(context.UnknownDim(0, 1)), side(0), side(1)});
  return {};
}

constexpr OperatorRow kCropRows[] = {
    {kContributedDomain, "CropAndResize", 1, kNewest, 4, 4, 1, 1, InferCropAndResize,
     HostInputs(3)},
};

}  // namespace

std::span<const OperatorRow> CropRows() { return kCropRows; }

}  // namespace plimsoll::graph::operators
