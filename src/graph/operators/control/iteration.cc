#include "graph/operators/control/iteration.h"

#include <utility>

#include "graph/operators/agreement.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// Widens one carried type so that it covers what a run gave; true when that changed it. An optional
// may be given its element.
Result<bool> Widen(const InferContext& context, size_t carried, ValueType& type,
                   const ValueType& result) {
  const auto unknown = [&](size_t axis) { return context.UnknownDim(carried, axis); };
  const bool filled = type.kind == ValueType::Kind::kOptional &&
                      (result.is_tensor() || result.kind == ValueType::Kind::kSequence);
  std::optional<ValueType> joined =
      Join(type, filled ? ValueType::Optional(result) : result, unknown);
  if (!joined) {
    return context.Fail(StrCat("value ", carried, " enters its body as ", Text(type),
                               " but leaves it as ", Text(result)));
  }
  const bool changed = !(*joined == type);
  type = *std::move(joined);
  return changed;
}

}  // namespace

Result<std::vector<ValueType>> InferEveryIteration(InferContext& context, IteratedBody& body) {
  if (!body.id.valid()) return context.Fail("it lacks the body that it should carry");
  const Subgraph& graph = context.graph()[body.id];
  if (graph.inputs.size() != body.inputs.size() ||
      graph.outputs.size() < body.first_output + body.carried) {
    return context.Fail(StrCat("its body takes ", graph.inputs.size(), " values and gives ",
                               graph.outputs.size(), ", where it must take ", body.inputs.size(),
                               " and give at least ", body.first_output + body.carried));
  }
  constexpr int kRuns = 4;
  for (int run = 1;; ++run) {
    PLIMSOLL_ASSIGN(std::vector<ValueType> results,
                    context.InferSubgraph(body.id, body.inputs, body.contents));
    bool stable = true;
    for (size_t i = 0; i < body.carried; ++i) {
      ValueType& type = body.inputs[body.first_input + i];
      PLIMSOLL_ASSIGN(const bool changed, Widen(context, i, type, results[body.first_output + i]));
      if (changed) stable = false;
      if (changed && run + 1 >= kRuns) type.shape.reset();
    }
    if (stable || run == kRuns) return results;
  }
}

}  // namespace plimsoll::graph::operators
