#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Which axis a DFT transforms: an attribute up to version 19, input 2 from there on. Nothing when
// that input's content is not known.
Result<std::optional<size_t>> ReadAxis(const InferContext& context, const Shape& signal) {
  int64_t axis = -2;
  if (context.version() < 20) {
    axis = context.attributes().Int("axis", 1);
  } else if (context.has_input(2)) {
    const std::optional<Dim> given = ScalarOf(context, 2);
    if (!given || !given->is_number()) return std::optional<size_t>();
    axis = given->number();
  }
  const std::optional<int64_t> normal = NormalizeAxis(axis, static_cast<int64_t>(signal.size()));
  if (!normal || static_cast<size_t>(*normal) + 1 == signal.size()) {
    return context.Fail(StrCat("axis ", axis, " is no signal axis of ", Text(signal)));
  }
  return std::optional<size_t>(static_cast<size_t>(*normal));
}

Dim OneSided(const Dim& length) { return Dim::FloorDiv(length, 2) + 1; }

// The signal's last axis holds real and imaginary parts.
Status InferFourierTransform(InferContext& context) {
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  const DataType type = context.input_data_type(0);
  const Shape* signal = context.input_shape(0);
  if (signal == nullptr) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  const bool one_sided = context.attributes().Int("onesided", 0) != 0;
  const bool inverse = context.attributes().Int("inverse", 0) != 0;
  PLIMSOLL_ASSIGN(const std::optional<size_t> axis, ReadAxis(context, *signal));
  Shape shape = *signal;
  shape.back() = one_sided && inverse ? 1 : 2;
  if (!axis) {
    for (size_t any = 0; any + 1 < shape.size(); ++any) shape[any] = context.UnknownDim(0, any);
    context.SetOutput(0, type, std::move(shape));
    return {};
  }
  Dim length = shape[*axis];
  if (context.has_input(1)) {
    length = ScalarOf(context, 1).value_or(context.UnknownDim(0, *axis));
    if (length.is_number() && length.number() < 1) {
      return context.Fail(StrCat("dft_length is ", length.number()));
    }
  } else if (one_sided && inverse) {
    length = (length - 1) * 2;
  }
  shape[*axis] = one_sided && !inverse ? OneSided(length) : length;
  context.SetOutput(0, type, std::move(shape));
  return {};
}

// Signal [batch, length, 1 or 2] to [batch, frames, frequencies, 2].
Status InferShortTimeFourierTransform(InferContext& context) {
  PLIMSOLL_TRY(CheckSameType(context, {0, 2}));
  PLIMSOLL_TRY(CheckRankAtLeast(context, 0, 2));
  PLIMSOLL_TRY(CheckRank(context, 2, 1));
  const Dim length = DimOf(context, 0, 1).value_or(context.UnknownDim(0, 1));
  Dim frame = length;
  if (context.has_input(3)) {
    frame = ScalarOf(context, 3).value_or(context.UnknownDim(0, 2));
  } else if (context.has_input(2)) {
    frame = DimOf(context, 2, 0).value_or(context.UnknownDim(0, 2));
  }
  if (const std::optional<Dim> window = DimOf(context, 2, 0)) {
    PLIMSOLL_TRY(CheckEqual(context, "frame_length and the window", frame, *window));
    frame = Clearer(frame, *window);
  }
  const std::optional<Dim> step = ScalarOf(context, 1);
  if ((frame.is_number() && frame.number() < 1) ||
      (step && step->is_number() && step->number() < 1)) {
    return context.Fail("frames must have a length and a step of at least 1");
  }
  Dim frames = step ? Dim::FloorDiv(length - frame, *step) + 1 : context.UnknownDim(0, 1);
  if (frames.is_number() && frames.number() < 0) {
    return context.Fail(
        StrCat("a frame of ", frame.Text(), " does not fit into a signal of ", length.Text()));
  }
  const bool one_sided = context.attributes().Int("onesided", 1) != 0;
  context.SetOutput(0, TypeOf(context, {0, 2}),
                    {DimOf(context, 0, 0).value_or(context.UnknownDim(0, 0)), std::move(frames),
                     one_sided ? OneSided(frame) : frame, 2});
  return {};
}

constexpr OperatorRow kSignalRows[] = {
    {"", "DFT", 17, 19, 1, 2, 1, 1, InferFourierTransform, HostInputs(1)},
    {"", "DFT", 20, kNewest, 1, 3, 1, 1, InferFourierTransform, HostInputs(1, 2)},
    {"", "STFT", 17, kNewest, 2, 4, 1, 1, InferShortTimeFourierTransform, HostInputs(1, 3)},
};

}  // namespace

std::span<const OperatorRow> SignalRows() { return kSignalRows; }

}  // namespace plimsoll::graph::operators
