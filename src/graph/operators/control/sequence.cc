#include <algorithm>
#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

UnknownAxis UnknownOf(const InferContext& context, size_t output) {
  return [&context, output](size_t axis) { return context.UnknownDim(output, axis); };
}

// The element type of a sequence; unknown when the input is not known to be one.
Result<ValueType> ElementOf(const InferContext& context, size_t input) {
  const ValueType& type = context.input_type(input);
  if (type.kind == ValueType::Kind::kUnknown) return ValueType();
  if (type.kind != ValueType::Kind::kSequence) {
    return context.Fail(StrCat("input ", input, " must be a sequence, but is ", Text(type)));
  }
  return type.element != nullptr ? *type.element : ValueType();
}

Status InferSequenceConstruct(InferContext& context) {
  ValueType element = context.input_type(0);
  for (size_t input = 0; input < context.input_count(); ++input) {
    PLIMSOLL_TRY(CheckTensor(context, input));
    std::optional<ValueType> joined =
        Join(element, context.input_type(input), UnknownOf(context, 0));
    if (!joined) {
      return context.Fail(StrCat("a sequence cannot hold both ", Text(element), " and ",
                                 Text(context.input_type(input))));
    }
    element = *std::move(joined);
  }
  context.SetOutput(0, ValueType::Sequence(std::move(element)));
  return {};
}

Status InferSequenceEmpty(InferContext& context) {
  const int64_t number = context.attributes().Int("dtype", 1);
  const std::optional<DataType> type = DataTypeFromOnnx(number);
  if (!type) return context.Fail(StrCat("dtype ", number, " is no element type"));
  context.SetOutput(0, ValueType::Sequence(ValueType::Tensor(*type)));
  return {};
}

Status InferSequenceAt(InferContext& context) {
  PLIMSOLL_ASSIGN(const ValueType element, ElementOf(context, 0));
  context.SetOutput(0, Renewed(element, UnknownOf(context, 0)));
  return {};
}

Status InferSequenceErase(InferContext& context) {
  PLIMSOLL_ASSIGN(ValueType element, ElementOf(context, 0));
  context.SetOutput(0, ValueType::Sequence(std::move(element)));
  return {};
}

Status InferSequenceInsert(InferContext& context) {
  PLIMSOLL_TRY(CheckTensor(context, 1));
  PLIMSOLL_ASSIGN(const ValueType element, ElementOf(context, 0));
  std::optional<ValueType> joined = Join(element, context.input_type(1), UnknownOf(context, 0));
  if (!joined) {
    return context.Fail(
        StrCat("a sequence of ", Text(element), " cannot take ", Text(context.input_type(1))));
  }
  context.SetOutput(0, ValueType::Sequence(*std::move(joined)));
  return {};
}

Status InferSequenceLength(InferContext& context) {
  PLIMSOLL_TRY(ElementOf(context, 0).status());
  context.SetOutput(0, DataType::kInt64, {});
  return {};
}

// The size that all pieces of a split have, or nothing when they may differ.
std::optional<Dim> PieceSize(const InferContext& context, const Dim& size) {
  const std::vector<Dim>* pieces = context.input_dims(1);
  if (pieces == nullptr || pieces->empty()) return std::nullopt;
  const Dim& piece = pieces->front();
  const Shape* shape = context.input_shape(1);
  if (shape != nullptr && shape->empty()) {
    return Dim::ExactDiv(size, piece) ? std::optional<Dim>(piece) : std::nullopt;
  }
  const bool even = std::all_of(pieces->begin(), pieces->end(),
                                [&piece](const Dim& other) { return other == piece; });
  return even ? std::optional<Dim>(piece) : std::nullopt;
}

Status InferSplitToSequence(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 1));
  const DataType type = context.input_data_type(0);
  const Shape* data = context.input_shape(0);
  if (data == nullptr) {
    context.SetOutput(0, ValueType::Sequence(ValueType::Tensor(type)));
    return {};
  }
  const int64_t axis = context.attributes().Int("axis", 0);
  const std::optional<int64_t> normal = NormalizeAxis(axis, static_cast<int64_t>(data->size()));
  if (!normal) return context.Fail(StrCat("axis ", axis, " is outside of ", Text(*data)));
  Shape piece = *data;
  const size_t at = static_cast<size_t>(*normal);
  if (context.has_input(1)) {
    piece[at] = PieceSize(context, piece[at]).value_or(context.UnknownDim(0, at));
    if (piece[at].is_number() && piece[at].number() < 0) {
      return context.Fail(StrCat("a piece of the split has size ", piece[at].number()));
    }
  } else if (context.attributes().Int("keepdims", 1) != 0) {
    piece[at] = 1;
  } else {
    piece.erase(piece.begin() + *normal);
  }
  context.SetOutput(0, ValueType::Sequence(ValueType::Tensor(type, std::move(piece))));
  return {};
}

Status InferConcatFromSequence(InferContext& context) {
  PLIMSOLL_ASSIGN(ValueType element, ElementOf(context, 0));
  if (!element.shape) {
    context.SetOutput(0, ValueType::Tensor(element.data_type));
    return {};
  }
  element = Renewed(element, UnknownOf(context, 0));
  Shape& shape = *element.shape;
  const bool stack = context.attributes().Int("new_axis", 0) != 0;
  const int64_t axis = context.attributes().Int("axis", 0);
  const std::optional<int64_t> normal =
      NormalizeAxis(axis, static_cast<int64_t>(shape.size()) + (stack ? 1 : 0));
  if (!normal) return context.Fail(StrCat("axis ", axis, " is outside of ", Text(shape)));
  if (stack) shape.insert(shape.begin() + *normal, Dim(1));
  shape[static_cast<size_t>(*normal)] = context.UnknownDim(0, static_cast<size_t>(*normal));
  context.SetOutput(0, std::move(element));
  return {};
}

// The body runs for each element of the first sequence; other sequences are walked alongside, other
// inputs stay the same.
Status InferSequenceMap(InferContext& context) {
  std::vector<ValueType> inputs;
  PLIMSOLL_TRY(ElementOf(context, 0).status());
  for (size_t input = 0; input < context.input_count(); ++input) {
    const ValueType& type = context.input_type(input);
    const bool walked = type.kind == ValueType::Kind::kSequence && type.element != nullptr;
    inputs.push_back(walked ? *type.element : type);
  }
  PLIMSOLL_ASSIGN(const std::vector<ValueType> results,
                  context.InferSubgraph(context.attributes().Subgraph("body"), inputs));
  if (results.size() < context.output_count()) {
    return context.Fail(StrCat("its body gives ", results.size(), " values for ",
                               context.output_count(), " outputs"));
  }
  for (size_t output = 0; output < context.output_count(); ++output) {
    context.SetOutput(output,
                      ValueType::Sequence(Renewed(results[output], UnknownOf(context, output))));
  }
  return {};
}

constexpr OperatorRow kSequenceRows[] = {
    {"", "SequenceConstruct", 11, kNewest, 1, kAny, 1, 1, InferSequenceConstruct},
    {"", "SequenceEmpty", 11, kNewest, 0, 0, 1, 1, InferSequenceEmpty},
    {"", "SequenceAt", 11, kNewest, 2, 2, 1, 1, InferSequenceAt, HostInputs(1)},
    {"", "SequenceErase", 11, kNewest, 1, 2, 1, 1, InferSequenceErase, HostInputs(1)},
    {"", "SequenceInsert", 11, kNewest, 2, 3, 1, 1, InferSequenceInsert, HostInputs(2)},
    {"", "SequenceLength", 11, kNewest, 1, 1, 1, 1, InferSequenceLength},
    {"", "SplitToSequence", 11, kNewest, 1, 2, 1, 1, InferSplitToSequence, HostInputs(1)},
    {"", "ConcatFromSequence", 11, kNewest, 1, 1, 1, 1, InferConcatFromSequence},
    {"", "SequenceMap", 17, kNewest, 1, kAny, 1, kAny, InferSequenceMap},
};

}  // namespace

std::span<const OperatorRow> SequenceRows() { return kSequenceRows; }

}  // namespace plimsoll::graph::operators
