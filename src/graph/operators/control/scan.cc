#include "graph/operators/control/scan.h"

#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/control/iteration.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// The inputs as the node gives them, and what walking them tells.
struct Walk {
  size_t first = 0;    // input with the first state
  size_t states = 0;   // how many there are
  size_t walked = 0;   // how many inputs follow them
  size_t batches = 0;  // leading axes that the body does not see: 1 in version 8
  Dim batch;
  Dim length;
};

Result<Walk> ReadWalk(const InferContext& context, size_t first, size_t batches) {
  Walk walk;
  walk.first = first;
  walk.batches = batches;
  const int64_t walked = context.attributes().Int("num_scan_inputs", 0);
  const auto given = static_cast<int64_t>(context.input_count()) - static_cast<int64_t>(first);
  if (walked < 1 || walked > given) {
    return context.Fail(StrCat("num_scan_inputs is ", walked, ", but there are ", given,
                               " inputs for states and sequences"));
  }
  walk.walked = static_cast<size_t>(walked);
  walk.states = static_cast<size_t>(given) - walk.walked;
  walk.batch = context.UnknownDim(0, 0);
  walk.length = context.UnknownDim(walk.states, batches);
  return walk;
}

// Entry `index` of an attribute that lists an axis for each sequence; 0 where it is absent.
int64_t AxisAt(const InferContext& context, std::string_view attribute, size_t index) {
  const std::vector<int64_t>* axes = context.attributes().Ints(attribute);
  return axes != nullptr && index < axes->size() ? (*axes)[index] : 0;
}

// Takes an axis out of an input's type and tells its size through `size`.
Status TakeAxis(const InferContext& context, ValueType& type, int64_t axis, Dim& size) {
  if (!type.shape) return {};
  const std::optional<int64_t> normal =
      NormalizeAxis(axis, static_cast<int64_t>(type.shape->size()));
  if (!normal) return context.Fail(StrCat("axis ", axis, " is outside of ", Text(type)));
  const Dim taken = (*type.shape)[static_cast<size_t>(*normal)];
  PLIMSOLL_TRY(CheckEqual(context, "the lengths of what is walked together", size, taken));
  size = Clearer(size, taken);
  type.shape->erase(type.shape->begin() + *normal);
  return {};
}

Result<IteratedBody> MakeBody(const InferContext& context, Walk& walk) {
  IteratedBody body;
  body.id = context.attributes().Subgraph("body");
  body.carried = walk.states;
  for (size_t i = 0; i < walk.states + walk.walked; ++i) {
    ValueType type = context.input_type(walk.first + i);
    if (walk.batches > 0) PLIMSOLL_TRY(TakeAxis(context, type, 0, walk.batch));
    if (i >= walk.states) {
      const int64_t axis = AxisAt(context, "scan_input_axes", i - walk.states);
      PLIMSOLL_TRY(TakeAxis(context, type, axis, walk.length));
    }
    body.inputs.push_back(std::move(type));
  }
  return body;
}

Status InferWalk(InferContext& context, Walk walk) {
  PLIMSOLL_ASSIGN(IteratedBody body, MakeBody(context, walk));
  PLIMSOLL_ASSIGN(const std::vector<ValueType> results, InferEveryIteration(context, body));
  if (context.output_count() > results.size()) {
    return context.Fail(StrCat("its body gives ", results.size(), " values for ",
                               context.output_count(), " outputs"));
  }
  for (size_t output = 0; output < context.output_count(); ++output) {
    const bool is_state = output < walk.states;
    const auto unknown = [&](size_t axis) { return context.UnknownDim(output, axis + 2); };
    ValueType type = is_state ? body.inputs[output] : Renewed(results[output], unknown);
    if (type.shape && !is_state) {
      const int64_t axis = AxisAt(context, "scan_output_axes", output - walk.states);
      const std::optional<int64_t> normal =
          NormalizeAxis(axis, static_cast<int64_t>(type.shape->size()) + 1);
      if (!normal)
        return context.Fail(StrCat("output axis ", axis, " is outside of its slices ", Text(type)));
      type.shape->insert(type.shape->begin() + *normal, walk.length);
    }
    if (type.shape && walk.batches > 0) type.shape->insert(type.shape->begin(), walk.batch);
    context.SetOutput(output, std::move(type));
  }
  return {};
}

}  // namespace

Status InferScan(InferContext& context) {
  PLIMSOLL_ASSIGN(Walk walk, ReadWalk(context, 0, 0));
  return InferWalk(context, std::move(walk));
}

Status InferScanOfBatches(InferContext& context) {
  PLIMSOLL_ASSIGN(Walk walk, ReadWalk(context, 1, 1));
  return InferWalk(context, std::move(walk));
}

}  // namespace plimsoll::graph::operators
