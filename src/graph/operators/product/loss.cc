#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Scores [batch, classes, places...] against labels [batch, places...]: one loss a label, or one in
// all.
Status InferLoss(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2}));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 1, 1));
  const Shape* scores = context.input_shape(0);
  const Shape* labels = context.input_shape(1);
  if (scores != nullptr) PLIMSOLL_TRY(CheckVector(context, 2, (*scores)[1]));
  if (scores != nullptr && labels != nullptr && scores->size() != labels->size() + 1) {
    return context.Fail(StrCat("scores ", Text(*scores), " need labels of one dimension less, not ",
                               Text(*labels)));
  }
  std::optional<Shape> each;
  if (labels != nullptr) each = *labels;
  if (scores != nullptr) {
    Shape places{scores->begin() + 2, scores->end()};
    places.insert(places.begin(), scores->front());
    for (size_t axis = 0; axis < places.size() && each; ++axis) {
      PLIMSOLL_TRY(CheckEqual(
          context,
          StrCat("axis ", axis, " of labels ", Text(*labels), " and scores ", Text(*scores)),
          places[axis], (*each)[axis]));
      places[axis] = Clearer(places[axis], (*each)[axis]);
    }
    each = std::move(places);
  }
  const std::string reduction = context.attributes().String("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum") {
    return context.Fail(StrCat("reduction is '", reduction, "', not none, mean or sum"));
  }
  SetTensor(context, 0, TypeOf(context, {0, 2}), reduction == "none" ? each : Shape{});
  if (context.has_output(1)) CopyType(context, 1, 0);
  return {};
}

constexpr OperatorRow kLossRows[] = {
    {"", "NegativeLogLikelihoodLoss", 12, kNewest, 2, 3, 1, 1, InferLoss},
    {"", "SoftmaxCrossEntropyLoss", 12, kNewest, 2, 3, 1, 2, InferLoss},
};

}  // namespace

std::span<const OperatorRow> LossRows() { return kLossRows; }

}  // namespace plimsoll::graph::operators
