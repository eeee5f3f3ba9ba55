#include <algorithm>
#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/control/counted_loop.h"
#include "graph/operators/control/iteration.h"
#include "graph/operators/control/scan.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// The condition as far as it is known before anything runs.
std::optional<bool> KnownCondition(const InferContext& context, size_t input) {
  const std::optional<Dim> condition = ScalarOf(context, input);
  if (!condition || !condition->is_number()) return std::nullopt;
  return condition->number() != 0;
}

Result<std::vector<ValueType>> InferBranch(InferContext& context, SubgraphId branch) {
  PLIMSOLL_ASSIGN(std::vector<ValueType> results, context.InferSubgraph(branch, {}));
  if (results.size() != context.output_count()) {
    return context.Fail(StrCat("a branch gives ", results.size(), " values for ",
                               context.output_count(), " outputs"));
  }
  return results;
}

// The outputs are those of one branch, with their content.
void TakeBranch(InferContext& context, SubgraphId branch, const std::vector<ValueType>& results) {
  for (size_t output = 0; output < results.size(); ++output) {
    context.SetOutput(output, results[output]);
    const Value& value = context.graph()[context.graph()[branch].outputs[output]];
    if (value.content) context.SetContent(output, *value.content);
  }
}

// Both branches are inferred, so that everything in them has a type. A branch may be impossible:
// where a run gets beyond the node, it has taken the other one.
Status InferIf(InferContext& context) {
  const SubgraphId then_branch = context.attributes().Subgraph("then_branch");
  const SubgraphId else_branch = context.attributes().Subgraph("else_branch");
  const Result<std::vector<ValueType>> then_results = InferBranch(context, then_branch);
  const Result<std::vector<ValueType>> else_results = InferBranch(context, else_branch);
  if (const std::optional<bool> condition = KnownCondition(context, 0)) {
    const Result<std::vector<ValueType>>& taken = *condition ? then_results : else_results;
    if (!taken.ok()) return taken.error();
    TakeBranch(context, *condition ? then_branch : else_branch, *taken);
    return {};
  }
  if (!then_results.ok() && !else_results.ok()) return then_results.error();
  if (!then_results.ok() || !else_results.ok()) {
    const bool taken = then_results.ok();
    TakeBranch(context, taken ? then_branch : else_branch, taken ? *then_results : *else_results);
    return {};
  }
  for (size_t output = 0; output < context.output_count(); ++output) {
    const ValueType& a = (*then_results)[output];
    const ValueType& b = (*else_results)[output];
    std::optional<ValueType> joined =
        Join(a, b, [&](size_t axis) { return context.UnknownDim(output, axis); });
    if (!joined) {
      return context.Fail(StrCat("output ", output, " is ", Text(a), " in one branch and ", Text(b),
                                 " in the other"));
    }
    context.SetOutput(output, *std::move(joined));
  }
  return {};
}

// How often a loop runs, known when its trip count ends it, or a condition that counts.
std::optional<Dim> TripCount(const InferContext& context, SubgraphId body) {
  const std::optional<bool> condition = KnownCondition(context, 1);
  if (condition == false) return Dim(0);
  const std::optional<Dim> trips = ScalarOf(context, 0);
  if (trips && trips->is_number() && trips->number() <= 0) return Dim(0);
  if ((!trips && context.has_input(0)) || (context.has_input(1) && condition != true)) {
    return std::nullopt;
  }
  const std::optional<int64_t> counted = CountIterations(context, body);
  if (!counted) return std::nullopt;
  if (*counted == kEndless) return trips;
  if (!trips) return Dim(*counted);
  return trips->is_number() ? std::optional(Dim(std::min(trips->number(), *counted)))
                            : std::nullopt;
}

// Inputs: trip count, condition, carried values. The body takes the iteration's number, the
// condition and the carried values; it gives the condition, the carried values and one slice of
// each scan output.
Status InferLoop(InferContext& context) {
  if (context.input_count() < 2) return context.Fail("its trip count and condition are missing");
  IteratedBody body;
  body.id = context.attributes().Subgraph("body");
  body.inputs = {ValueType::Tensor(DataType::kInt64, Shape{}),
                 ValueType::Tensor(DataType::kBool, Shape{})};
  if (context.input_shape(1) != nullptr) body.inputs[1].shape = *context.input_shape(1);
  // Inside the body the condition has just been found true.
  body.contents = {std::nullopt, Content{std::vector<Dim>{1}}};
  body.first_input = 2;
  body.first_output = 1;
  body.carried = context.input_count() - 2;
  for (size_t i = 0; i < body.carried; ++i) body.inputs.push_back(context.input_type(2 + i));
  PLIMSOLL_ASSIGN(const std::vector<ValueType> results, InferEveryIteration(context, body));
  if (context.output_count() + 1 > results.size()) {
    return context.Fail(StrCat("its body gives ", results.size() - 1, " values for ",
                               context.output_count(), " outputs"));
  }
  const std::optional<Dim> trips = TripCount(context, body.id);
  const bool never = trips == Dim(0);
  for (size_t output = 0; output < context.output_count(); ++output) {
    if (output < body.carried) {
      const ValueType& carried = never ? context.input_type(2 + output) : body.inputs[2 + output];
      const ValueType& result = results[1 + output];
      // An optional that the body fills leaves the loop as what the body gave.
      const bool filled = carried.kind == ValueType::Kind::kOptional &&
                          result.kind != ValueType::Kind::kOptional && !never;
      context.SetOutput(output, filled ? result : carried);
      continue;
    }
    const auto unknown = [&](size_t axis) { return context.UnknownDim(output, axis + 1); };
    ValueType slices = Renewed(results[output + 1], unknown);
    if (slices.shape) {
      slices.shape->insert(slices.shape->begin(), trips.value_or(context.UnknownDim(output, 0)));
    }
    context.SetOutput(output, std::move(slices));
  }
  return {};
}

constexpr OperatorRow kControlFlowRows[] = {
    {"", "If", 1, kNewest, 1, 1, 1, kAny, InferIf, HostInputs(0)},
    {"", "Loop", 1, kNewest, 0, kAny, 0, kAny, InferLoop, HostInputs(0, 1)},
    {"", "Scan", 8, 8, 0, kAny, 0, kAny, InferScanOfBatches, HostInputs(0)},
    {"", "Scan", 9, kNewest, 1, kAny, 0, kAny, InferScan},
};

}  // namespace

std::span<const OperatorRow> ControlFlowRows() { return kControlFlowRows; }

}  // namespace plimsoll::graph::operators
