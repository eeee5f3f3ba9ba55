#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "graph/operators/product/operations.h"
#include "graph/operators/product/sliding_window.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

Result<int64_t> ReadGroup(const InferContext& context, std::string_view name = "group") {
  const int64_t group = context.attributes().Int(name, 1);
  if (group < 1) return context.Fail(StrCat("attribute ", name, " is ", group));
  return group;
}

// A convolution's data and weights: [batch, channels, spatial...] and [filters, channels of a
// group, spatial...].
struct Operands {
  const Shape* data = nullptr;
  const Shape* weights = nullptr;
};

// Checks the ranks of both; members are null where not known.
Result<Operands> ReadOperands(const InferContext& context, size_t data, size_t weights) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, data, 2));
  PLIMSOLL_TRY(CheckRankAtLeast(context, weights, 2));
  Operands operands{context.input_shape(data), context.input_shape(weights)};
  if (operands.data != nullptr && operands.weights != nullptr &&
      operands.data->size() != operands.weights->size()) {
    return context.Fail(StrCat("the data ", Text(*operands.data), " and the weights ",
                               Text(*operands.weights), " differ in rank"));
  }
  return operands;
}

Status InferConvolution(InferContext& context, size_t data, size_t weights, DataType type) {
  PLIMSOLL_ASSIGN(const Operands operands, ReadOperands(context, data, weights));
  PLIMSOLL_ASSIGN(const int64_t group, ReadGroup(context));
  if (operands.data == nullptr || operands.weights == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const Shape& x = *operands.data;
  const Shape& w = *operands.weights;
  PLIMSOLL_TRY(CheckEqual(context,
                          StrCat("the channels of data ", Text(x), " and of weights ", Text(w)),
                          x[1], w[1] * group));
  PLIMSOLL_ASSIGN(const SlidingWindow window,
                  ReadWindow(context, std::vector<Dim>(w.begin() + 2, w.end())));
  PLIMSOLL_ASSIGN(Shape shape, Slide(context, window, x, {x[0], w[0]}));
  context.SetOutput(0, type, std::move(shape));
  return {};
}

Status InferConv(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  if (const std::optional<Dim> filters = DimOf(context, 1, 0)) {
    PLIMSOLL_TRY(CheckVector(context, 2, *filters));
  }
  return InferConvolution(context, 0, 1, TypeOf(context, {0, 1, 2}));
}

Status InferConvInteger(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2}));
  PLIMSOLL_TRY(CheckSameType(context, {1, 3}));
  return InferConvolution(context, 0, 1, DataType::kInt32);
}

Status InferQLinearConv(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2}));
  PLIMSOLL_TRY(CheckSameType(context, {3, 5}));
  return InferConvolution(context, 0, 3, context.input_data_type(7));
}

Status InferDeformConv(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2, 3, 4}));
  PLIMSOLL_ASSIGN(const int64_t offset_group, ReadGroup(context, "offset_group"));
  PLIMSOLL_TRY(InferConvolution(context, 0, 1, TypeOf(context, {0, 1, 2})));
  const Shape* weights = context.input_shape(1);
  const std::optional<Dim> offsets = DimOf(context, 2, 1);
  if (weights == nullptr || !offsets) return {};
  Dim expected = Dim(2) * offset_group;
  for (size_t axis = 2; axis < weights->size(); ++axis) expected = expected * (*weights)[axis];
  return CheckEqual(context, "the offsets and those that the kernel needs", *offsets, expected);
}

Status InferConvTranspose(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2}));
  const DataType type = TypeOf(context, {0, 1, 2});
  PLIMSOLL_ASSIGN(const Operands operands, ReadOperands(context, 0, 1));
  PLIMSOLL_ASSIGN(const int64_t group, ReadGroup(context));
  if (operands.data == nullptr || operands.weights == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const Shape& x = *operands.data;
  const Shape& w = *operands.weights;
  PLIMSOLL_TRY(CheckEqual(
      context, StrCat("the channels of data ", Text(x), " and of weights ", Text(w)), x[1], w[0]));
  PLIMSOLL_ASSIGN(const SlidingWindow window,
                  ReadWindow(context, std::vector<Dim>(w.begin() + 2, w.end())));
  const std::vector<int64_t>* wanted = context.attributes().Ints("output_shape");
  const std::vector<int64_t>* extra = context.attributes().Ints("output_padding");
  for (const std::vector<int64_t>* list : {wanted, extra}) {
    if (list != nullptr && !list->empty() && list->size() != window.rank()) {
      return context.Fail(StrCat("output_shape or output_padding has ", list->size(),
                                 " numbers where ", window.rank(), " are needed"));
    }
  }
  Shape shape{x[0], w[1] * group};
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    const Dim& size = x[axis + 2];
    const Dim stride = window.strides[axis];
    Dim grown = size * stride;
    if (wanted != nullptr && !wanted->empty()) {
      grown = (*wanted)[axis];
    } else if (window.padding != SlidingWindow::Padding::kSame) {
      grown = (size - 1) * stride + window.Extent(axis) - window.Pads(axis);
      if (extra != nullptr && !extra->empty()) grown = grown + (*extra)[axis];
    }
    if (grown.is_number() && grown.number() < 0) {
      return context.Fail(
          StrCat("axis ", axis + 2, " of the output would have size ", grown.number()));
    }
    shape.push_back(std::move(grown));
  }
  context.SetOutput(0, type, std::move(shape));
  return {};
}

Status InferCausalConvWithState(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 1, 2, 3}));
  for (size_t input : {0, 1, 3}) PLIMSOLL_TRY(CheckRank(context, input, 3));
  const DataType type = TypeOf(context, {0, 1});
  const Shape* data = context.input_shape(0);
  const Shape* weights = context.input_shape(1);
  const Shape* past = context.input_shape(3);
  if (data != nullptr && weights != nullptr) {
    PLIMSOLL_TRY(CheckEqual(context, "the channels of the data and of the weights", (*data)[1],
                            (*weights)[0]));
  }
  SetTensor(context, 0, type, data == nullptr ? std::nullopt : std::optional<Shape>(*data));
  Shape state{context.UnknownDim(1, 0), context.UnknownDim(1, 1), context.UnknownDim(1, 2)};
  if (past != nullptr) state = *past;
  if (data != nullptr) {
    state[0] = Clearer((*data)[0], state[0]);
    state[1] = Clearer((*data)[1], state[1]);
  }
  if (weights != nullptr) {
    const Dim carried = (*weights)[2] - 1;
    PLIMSOLL_TRY(
        CheckEqual(context, "the past state and what the kernel carries", state[2], carried));
    state[2] = Clearer(carried, state[2]);
  }
  context.SetOutput(1, type, std::move(state));
  return {};
}

Status InferCol2Im(InferContext& context) {
  PLIMSOLL_TRY(CheckRank(context, 0, 3));
  PLIMSOLL_TRY(CheckRank(context, 1, 1));
  PLIMSOLL_TRY(CheckRank(context, 2, 1));
  const DataType type = context.input_data_type(0);
  const std::vector<Dim>* image = context.input_dims(1);
  const std::optional<std::vector<int64_t>> block = context.input_integers(2);
  std::optional<Dim> rank = DimOf(context, 1, 0);
  if (image != nullptr) rank = Dim(static_cast<int64_t>(image->size()));
  if (!rank || !rank->is_number() || rank->number() > kMaxContentElements) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  Shape shape{DimOf(context, 0, 0).value_or(context.UnknownDim(0, 0)), context.UnknownDim(0, 1)};
  if (const std::optional<Dim> columns = DimOf(context, 0, 1); columns && block) {
    Dim area = 1;
    for (int64_t size : *block) area = area * size;
    if (const std::optional<Dim> channels = Dim::ExactDiv(*columns, area)) {
      shape[1] = *channels;
    } else if (columns->is_number()) {
      return context.Fail(StrCat("the ", columns->Text(), " rows of columns are no multiple of a ",
                                 "block of ", area.Text()));
    }
  }
  for (size_t axis = 0; axis < static_cast<size_t>(rank->number()); ++axis) {
    shape.push_back(image != nullptr ? (*image)[axis] : context.UnknownDim(0, axis + 2));
    if (shape.back().is_number() && shape.back().number() < 0) {
      return context.Fail(StrCat("the image has size ", shape.back().number()));
    }
  }
  context.SetOutput(0, type, std::move(shape));
  return {};
}

// Blocks overlap and are added up where they do.
void ClearOutput(const Node&, MemoryAttributes& attributes) { attributes.needs_clearing = {0}; }

constexpr OperatorFacts kColumnsToImage = {.host_inputs = Inputs(1, 2), .memory = ClearOutput};

constexpr OperatorFacts kConvolution = {.operations = ConvolutionOperations};
constexpr OperatorFacts kTransposedConvolution = {.operations = TransposedConvolutionOperations};
constexpr OperatorFacts kQuantizedConvolution = {.operations = QuantizedConvolutionOperations};

constexpr OperatorRow kConvolutionRows[] = {
    {"", "Conv", 1, kNewest, 2, 3, 1, 1, InferConv, kConvolution},
    {"", "ConvTranspose", 1, kNewest, 2, 3, 1, 1, InferConvTranspose, kTransposedConvolution},
    {"", "ConvInteger", 10, kNewest, 2, 4, 1, 1, InferConvInteger, kConvolution},
    {"", "QLinearConv", 10, kNewest, 8, 9, 1, 1, InferQLinearConv, kQuantizedConvolution},
    {"", "DeformConv", 19, kNewest, 3, 5, 1, 1, InferDeformConv, kConvolution},
    {"", "CausalConvWithState", 27, kNewest, 2, 4, 2, 2, InferCausalConvWithState},
    {"", "Col2Im", 18, kNewest, 3, 3, 1, 1, InferCol2Im, kColumnsToImage},
};

}  // namespace

std::span<const OperatorRow> ConvolutionRows() { return kConvolutionRows; }

}  // namespace plimsoll::graph::operators
