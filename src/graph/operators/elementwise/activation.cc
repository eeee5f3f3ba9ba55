#include <algorithm>

#include "graph/operators/agreement.h"
#include "graph/operators/elementwise/elements.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

// Activations: the output has the type and shape of the first input.
namespace plimsoll::graph::operators {
namespace {

// The standard writes counts as Relu(Ceil(...)), in Range for one.
Status InferRelu(InferContext& context) {
  PLIMSOLL_TRY(InferLikeFirst(context));
  const Content* content = KnownContent(context, 0);
  if (content == nullptr) return {};
  Content made = *content;
  if (auto* doubles = std::get_if<std::vector<double>>(&made.elements)) {
    for (double& element : *doubles) element = element < 0 ? 0 : element;
  } else {
    for (Dim& element : std::get<std::vector<Dim>>(made.elements)) element = Dim::Max(element, 0);
  }
  OfferContent(context, 0, context.input_data_type(0), std::move(made));
  return {};
}

// Where one is given, a bound of sizes must be known.
void ClipSizes(InferContext& context, std::vector<Dim> sizes) {
  for (const size_t bound : {1, 2}) {
    if (!context.has_input(bound)) continue;
    const std::optional<Dim> limit = ScalarOf(context, bound);
    if (!limit) return;
    for (Dim& size : sizes) {
      size = bound == 1 ? Dim::Max(size, *limit) : Dim::Min(size, *limit);
    }
  }
  OfferContent(context, 0, context.input_data_type(0), Content{std::move(sizes)});
}

// The same of floats: exporters count how far to pad an image with them. NaN stays.
void ClipFloats(InferContext& context, std::vector<double> floats) {
  for (const size_t bound : {1, 2}) {
    if (!context.has_input(bound)) continue;
    const Content* content = KnownContent(context, bound);
    const std::vector<double>* limit = content != nullptr ? content->doubles() : nullptr;
    if (limit == nullptr || limit->size() != 1) return;
    for (double& element : floats) {
      const bool outside = bound == 1 ? element < limit->front() : element > limit->front();
      if (outside) element = limit->front();
    }
  }
  OfferContent(context, 0, context.input_data_type(0), Content{std::move(floats)});
}

void ClipContent(InferContext& context) {
  const Content* content = KnownContent(context, 0);
  if (content == nullptr) return;
  if (const std::vector<Dim>* sizes = content->dims()) return ClipSizes(context, *sizes);
  ClipFloats(context, *content->doubles());
}

// The bounds became inputs in version 11.
Status InferClip(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 3));
  for (const size_t bound : {1, 2}) {
    const Shape* shape = context.input_shape(bound);
    if (shape != nullptr && !shape->empty() && !(shape->size() == 1 && shape->front() == Dim(1))) {
      return context.Fail(StrCat("the bound in input ", bound, " is no scalar: ", Text(*shape)));
    }
  }
  SetTensor(context, 0, type, context.input_type(0).shape);
  ClipContent(context);
  return {};
}

// The slope broadcasts to the first input, which keeps its shape.
Status InferPRelu(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 2));
  PLIMSOLL_ASSIGN(const std::optional<Shape> both, BroadcastInputs(context, 0, 2));
  const Shape* shape = context.input_shape(0);
  if (both && IsStatic(*both) && IsStatic(*shape) && *both != *shape) {
    return context.Fail(StrCat("the slope ", Text(*context.input_shape(1)),
                               " does not broadcast to the input ", Text(*shape)));
  }
  SetTensor(context, 0, type, context.input_type(0).shape);
  return {};
}

Status CheckAxis(const InferContext& context, int64_t axis, int64_t least, int64_t most) {
  if (axis >= least && axis <= most) return {};
  return context.Fail(StrCat("axis ", axis, " is outside ", Text(*context.input_shape(0))));
}

// Up to version 12 the axis cuts the shape in two, so one behind the last axis is legal.
Status InferCoercedSoftmax(InferContext& context) {
  if (const Shape* shape = context.input_shape(0)) {
    const auto rank = static_cast<int64_t>(shape->size());
    PLIMSOLL_TRY(
        CheckAxis(context, context.attributes().Int("axis", 1), -rank, std::max<int64_t>(rank, 1)));
  }
  return InferLikeFirst(context);
}

Status InferSoftmax(InferContext& context) {
  if (const Shape* shape = context.input_shape(0)) {
    const auto rank = std::max<int64_t>(static_cast<int64_t>(shape->size()), 1);
    PLIMSOLL_TRY(CheckAxis(context, context.attributes().Int("axis", -1), -rank, rank - 1));
  }
  return InferLikeFirst(context);
}

// Gate and value have one shape; nothing broadcasts.
Status InferSwiGlu(InferContext& context) {
  PLIMSOLL_ASSIGN(const DataType type, CommonType(context, 0, 2));
  const Shape* gate = context.input_shape(0);
  const Shape* value = context.input_shape(1);
  if (gate == nullptr || value == nullptr) {
    SetTensor(context, 0, type, context.input_type(gate == nullptr ? 1 : 0).shape);
    return {};
  }
  Shape merged;
  for (size_t axis = 0; axis < gate->size() && gate->size() == value->size(); ++axis) {
    if (!MayBeEqual((*gate)[axis], (*value)[axis])) break;
    merged.push_back(Clearer((*gate)[axis], (*value)[axis]));
  }
  if (merged.size() != gate->size() || merged.size() != value->size()) {
    return context.Fail(
        StrCat("gate ", Text(*gate), " and value ", Text(*value), " must have one shape"));
  }
  context.SetOutput(0, type, std::move(merged));
  return {};
}

constexpr OperatorFacts kLeakyRelu = {
    .elementwise = true,
    .keeps_zero = true,
    .in_place_inputs = kEveryInput,
    .activation = {.fusable = true, .parameters = 1, .alpha = 0.01}};
constexpr OperatorFacts kActivationOfAlpha = {
    .elementwise = true,
    .keeps_zero = true,
    .in_place_inputs = kEveryInput,
    .activation = {.fusable = true, .parameters = 1, .alpha = 1}};
constexpr OperatorFacts kSigmoid = {
    .elementwise = true, .in_place_inputs = kEveryInput, .activation = {.fusable = true}};
constexpr OperatorFacts kHardSigmoid = {
    .elementwise = true,
    .in_place_inputs = kEveryInput,
    .activation = {.fusable = true, .parameters = 2, .alpha = 0.2, .beta = 0.5}};

constexpr OperatorRow kActivationRows[] = {
    {"", "Relu", 6, kNewest, 1, 1, 1, 1, InferRelu, kActivation},
    {"", "LeakyRelu", 6, kNewest, 1, 1, 1, 1, InferLikeFirst, kLeakyRelu},
    {"", "ThresholdedRelu", 10, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "PRelu", 7, kNewest, 2, 2, 1, 1, InferPRelu, kElementwiseKeepsZero},
    {"", "Elu", 6, kNewest, 1, 1, 1, 1, InferLikeFirst, kActivationOfAlpha},
    {"", "Selu", 6, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Celu", 12, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Gelu", 20, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Mish", 18, kNewest, 1, 1, 1, 1, InferLikeFirst, kActivation},
    {"", "Swish", 24, kNewest, 1, 1, 1, 1, InferLikeFirst, kActivationOfAlpha},
    {"", "SwiGLU", 28, kNewest, 2, 2, 1, 1, InferSwiGlu},
    {"", "Sigmoid", 6, kNewest, 1, 1, 1, 1, InferLikeFirst, kSigmoid},
    {"", "HardSigmoid", 6, kNewest, 1, 1, 1, 1, InferLikeFirst, kHardSigmoid},
    {"", "HardSwish", 14, kNewest, 1, 1, 1, 1, InferLikeFirst, kActivation},
    {"", "Softplus", 1, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Softsign", 1, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwiseKeepsZero},
    {"", "Shrink", 9, kNewest, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Clip", 6, 10, 1, 1, 1, 1, InferLikeFirst, kElementwise},
    {"", "Clip", 11, kNewest, 1, 3, 1, 1, InferClip, kElementwise},
    {"", "Softmax", 1, 12, 1, 1, 1, 1, InferCoercedSoftmax, kOverFirstInput},
    {"", "Softmax", 13, kNewest, 1, 1, 1, 1, InferSoftmax, kOverFirstInput},
    {"", "LogSoftmax", 1, 12, 1, 1, 1, 1, InferCoercedSoftmax, kOverFirstInput},
    {"", "LogSoftmax", 13, kNewest, 1, 1, 1, 1, InferSoftmax, kOverFirstInput},
    {"", "Hardmax", 1, 12, 1, 1, 1, 1, InferCoercedSoftmax, kOverFirstInput},
    {"", "Hardmax", 13, kNewest, 1, 1, 1, 1, InferSoftmax, kOverFirstInput},
};

}  // namespace

std::span<const OperatorRow> ActivationRows() { return kActivationRows; }

}  // namespace plimsoll::graph::operators
