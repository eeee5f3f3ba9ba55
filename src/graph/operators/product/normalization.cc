#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

Status InferUnchanged(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  CopyType(context, 0, 0);
  return {};
}

// That inputs from `first` to `last` are vectors over the channels, axis 1 of the data.
Status CheckPerChannel(const InferContext& context, size_t first, size_t last) {
  const Shape* data = context.input_shape(0);
  if (data == nullptr) return {};
  const Dim channels = data->size() > 1 ? (*data)[1] : Dim(1);
  for (size_t input = first; input <= last; ++input) {
    PLIMSOLL_TRY(CheckVector(context, input, channels));
  }
  return {};
}

Status InferBatchNormalization(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  if (context.version() < 14) PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2, 3, 4}));
  PLIMSOLL_TRY(CheckSameType(context, {1, 2}));
  PLIMSOLL_TRY(CheckSameType(context, {3, 4}));
  // Up to version 8 statistics could be taken for each place, not each channel.
  const bool per_channel = context.version() >= 9 || context.attributes().Int("spatial", 1) != 0;
  if (per_channel) PLIMSOLL_TRY(CheckPerChannel(context, 1, 4));
  CopyType(context, 0, 0);
  std::optional<Shape> statistics;
  if (const Shape* mean = context.input_shape(3)) {
    statistics = *mean;
  } else if (per_channel) {
    statistics = Shape{DimOf(context, 0, 1).value_or(context.UnknownDim(1, 0))};
  }
  for (size_t output = 1; output < context.output_count(); ++output) {
    SetTensor(context, output, TypeOf(context, {3, 4, 0}), statistics);
  }
  return {};
}

Status InferInstanceNormalization(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  PLIMSOLL_TRY(CheckPerChannel(context, 1, 2));
  CopyType(context, 0, 0);
  return {};
}

Status InferGroupNormalization(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  const int64_t groups = context.attributes().Int("num_groups", 0);
  const std::optional<Dim> channels = DimOf(context, 0, 1);
  if (groups < 1) return context.Fail(StrCat("num_groups is ", groups));
  if (channels && channels->is_number() && channels->number() % groups != 0) {
    return context.Fail(
        StrCat(channels->number(), " channels do not split into ", groups, " groups"));
  }
  // Scale and bias are given for each group before version 21, for each channel from there on.
  if (context.version() >= 21) PLIMSOLL_TRY(CheckPerChannel(context, 1, 2));
  CopyType(context, 0, 0);
  return {};
}

// The normalised axes are those from attribute `axis` on; input `input` broadcasts to them.
Result<std::optional<int64_t>> FirstNormalizedAxis(const InferContext& context, size_t inputs) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 1));
  const Shape* data = context.input_shape(0);
  if (data == nullptr) return std::optional<int64_t>();
  const int64_t axis = context.attributes().Int("axis", -1);
  const std::optional<int64_t> first = NormalizeAxis(axis, static_cast<int64_t>(data->size()));
  if (!first) return context.Fail(StrCat("axis ", axis, " is outside of ", Text(*data)));
  for (size_t input = 1; input < inputs; ++input) {
    const Shape* factor = context.input_shape(input);
    if (factor == nullptr) continue;
    bool fits = factor->size() <= data->size();
    for (size_t i = 1; fits && i <= factor->size(); ++i) {
      const Dim& dim = (*factor)[factor->size() - i];
      fits = dim == Dim(1) || MayBeEqual(dim, (*data)[data->size() - i]);
    }
    if (!fits) {
      return context.Fail(StrCat("input ", input, ", ", Text(*factor),
                                 ", does not broadcast to the data ", Text(*data)));
    }
  }
  return first;
}

Status InferLayerNormalization(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  PLIMSOLL_ASSIGN(const std::optional<int64_t> first, FirstNormalizedAxis(context, 3));
  CopyType(context, 0, 0);
  const std::optional<DataType> stash = DataTypeFromOnnx(context.attributes().Int("stash_type", 1));
  if (!stash) return context.Fail("stash_type is no element type");
  std::optional<Shape> statistics;
  if (first) {
    statistics = *context.input_shape(0);
    for (size_t axis = static_cast<size_t>(*first); axis < statistics->size(); ++axis) {
      (*statistics)[axis] = 1;
    }
  }
  for (size_t output = 1; output < context.output_count(); ++output) {
    SetTensor(context, output, *stash, statistics);
  }
  return {};
}

Status InferRmsNormalization(InferContext& context) {
  PLIMSOLL_ASSIGN(const std::optional<int64_t> first, FirstNormalizedAxis(context, 2));
  std::optional<Shape> shape;
  if (first) shape = *context.input_shape(0);
  SetTensor(context, 0, context.input_data_type(1), shape);
  return {};
}

Status InferLpNormalization(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  const int64_t axis = context.attributes().Int("axis", -1);
  if (const Shape* data = context.input_shape(0);
      data != nullptr && !NormalizeAxis(axis, static_cast<int64_t>(data->size()))) {
    return context.Fail(StrCat("axis ", axis, " is outside of ", Text(*data)));
  }
  CopyType(context, 0, 0);
  return {};
}

Status InferDropout(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 0));
  CopyType(context, 0, 0);
  if (!context.has_output(1)) return {};
  ValueType mask = context.input_type(0);
  if (context.version() >= 10) mask.data_type = DataType::kBool;
  mask.kind = ValueType::Kind::kTensor;
  context.SetOutput(1, std::move(mask));
  return {};
}

// With a mask or a training mode asked for, elements are dropped at random.
bool RandomInTraining(const Node& node) {
  return node.outputs.size() > 1 || node.inputs.size() > 2;
}

constexpr OperatorFacts kDropout = {
    .view = View::kWholeIfUnchanged, .in_place_inputs = Inputs(0), .random = RandomInTraining};
constexpr OperatorFacts kDropoutByInputs = {.view = View::kWholeIfUnchanged,
                                            .in_place_inputs = Inputs(0),
                                            .host_inputs = Inputs(1, 2),
                                            .random = RandomInTraining};

constexpr OperatorRow kNormalizationRows[] = {
    {"", "BatchNormalization", 7, 13, 5, 5, 1, 5, InferBatchNormalization, kOverFirstInput},
    {"", "BatchNormalization", 14, kNewest, 5, 5, 1, 3, InferBatchNormalization, kOverFirstInput},
    {"", "LayerNormalization", 17, kNewest, 2, 3, 1, 3, InferLayerNormalization, kOverFirstInput},
    {"", "RMSNormalization", 23, kNewest, 2, 2, 1, 1, InferRmsNormalization, kOverFirstInput},
    {"", "InstanceNormalization", 6, kNewest, 3, 3, 1, 1, InferInstanceNormalization,
     kOverFirstInput},
    {"", "GroupNormalization", 18, kNewest, 3, 3, 1, 1, InferGroupNormalization, kOverFirstInput},
    {"", "LRN", 1, kNewest, 1, 1, 1, 1, InferUnchanged},
    {"", "LpNormalization", 1, kNewest, 1, 1, 1, 1, InferLpNormalization, kOverFirstInput},
    {"", "MeanVarianceNormalization", 9, kNewest, 1, 1, 1, 1, InferUnchanged, kOverFirstInput},
    {"", "Dropout", 7, 11, 1, 1, 1, 2, InferDropout, kDropout},
    {"", "Dropout", 12, kNewest, 1, 3, 1, 2, InferDropout, kDropoutByInputs},
};

}  // namespace

std::span<const OperatorRow> NormalizationRows() { return kNormalizationRows; }

}  // namespace plimsoll::graph::operators
