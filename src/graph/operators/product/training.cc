#include <utility>

#include "graph/operators/agreement.h"
#include "graph/operators/families.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

// An optimizer's step: rate and counter, then groups of as many tensors as there are parameters:
// the parameters, their gradients, their states. It gives new parameters and new states.
Status InferStep(InferContext& context, size_t states) {
  const size_t given = context.input_count() - 2;
  const size_t groups = 2 + states;
  if (given == 0 || given % groups != 0) {
    return context.Fail(
        StrCat(given, " tensors do not split into parameters, gradients and ", states, " states"));
  }
  const size_t parameters = given / groups;
  for (size_t parameter = 0; parameter < parameters; ++parameter) {
    const size_t first = 2 + parameter;
    for (size_t group = 1; group < groups; ++group) {
      const size_t input = first + group * parameters;
      PLIMSOLL_TRY(CheckSameType(context, {first, input}));
      const Shape* parameter_shape = context.input_shape(first);
      const Shape* shape = context.input_shape(input);
      if (parameter_shape == nullptr || shape == nullptr) continue;
      if (parameter_shape->size() != shape->size()) {
        return context.Fail(StrCat("parameter ", parameter, " is ", Text(*parameter_shape),
                                   ", but input ", input, " of it is ", Text(*shape)));
      }
    }
    for (size_t group = 0; group <= states; ++group) {
      const size_t source = group == 0 ? 0 : group + 1;  // skips the gradients
      CopyType(context, parameter + group * parameters, first + source * parameters);
    }
  }
  return {};
}

Status InferStepOfOneState(InferContext& context) { return InferStep(context, 1); }
Status InferStepOfTwoStates(InferContext& context) { return InferStep(context, 2); }

// The derivative by each of the first inputs, those that attribute `xs` names, is shaped like it.
Status InferGradient(InferContext& context) {
  const std::vector<std::string>* variables = context.attributes().Strings("xs");
  if (variables == nullptr || variables->size() > context.input_count() ||
      variables->size() < context.output_count()) {
    return context.Fail(StrCat("attribute xs does not name the variables of ",
                               context.output_count(), " outputs among ", context.input_count(),
                               " inputs"));
  }
  for (size_t i = 0; i < context.output_count(); ++i) CopyType(context, i, i);
  return {};
}

constexpr OperatorRow kTrainingRows[] = {
    {kTrainingDomain, "Adagrad", 1, kNewest, 3, kAny, 1, kAny, InferStepOfOneState},
    {kTrainingDomain, "Adam", 1, kNewest, 3, kAny, 1, kAny, InferStepOfTwoStates},
    {kTrainingDomain, "Gradient", 1, kNewest, 1, kAny, 1, kAny, InferGradient},
    {kTrainingDomain, "Momentum", 1, kNewest, 3, kAny, 1, kAny, InferStepOfOneState},
};

}  // namespace

std::span<const OperatorRow> TrainingRows() { return kTrainingRows; }

}  // namespace plimsoll::graph::operators
