#include "graph/operators/product/einsum.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "graph/operators/agreement.h"
#include "plimsoll/base/text.h"

namespace plimsoll::graph::operators {
namespace {

using Term = std::string;
constexpr char kEllipsis = EinsumEquation::kEllipsis;

std::optional<Term> ParseTerm(std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == ' ') continue;
    if (text.substr(i, 3) == "..." && term.find(kEllipsis) == Term::npos) {
      term += kEllipsis;
      i += 2;
    } else if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')) {
      term += letter;
    } else {
      return std::nullopt;
    }
  }
  return term;
}

Term ImpliedOutput(const std::vector<Term>& inputs) {
  std::map<char, int> occurrences;
  for (const Term& term : inputs) {
    for (char letter : term) ++occurrences[letter];
  }
  Term output;
  for (const auto& [letter, count] : occurrences) {
    if (letter == kEllipsis || count == 1) output += letter;
  }
  return output;
}

Result<EinsumEquation> ReadEquation(const InferContext& context) {
  const std::string text = context.attributes().String("equation", "");
  std::string_view unreadable;
  std::optional<EinsumEquation> equation = ParseEinsum(text, unreadable);
  if (!equation) {
    return context.Fail(StrCat("the equation's term '", unreadable, "' cannot be read"));
  }
  if (equation->inputs.size() != context.input_count()) {
    return context.Fail(StrCat("equation '", text, "' is for ", equation->inputs.size(),
                               " operands, but the node has ", context.input_count()));
  }
  return *std::move(equation);
}

// What the letters stand for, gathered operand by operand.
struct Sizes {
  std::map<char, Dim> letters;
  Shape ellipsis;
  bool ellipsis_known = true;
};

Status ReadOperand(const InferContext& context, size_t input, const Term& term, Sizes& sizes) {
  const Shape* shape = context.input_shape(input);
  const bool has_ellipsis = term.find(kEllipsis) != Term::npos;
  if (shape == nullptr) {
    if (has_ellipsis) sizes.ellipsis_known = false;
    return {};
  }
  const size_t letters = term.size() - (has_ellipsis ? 1 : 0);
  if (shape->size() < letters || (shape->size() > letters && !has_ellipsis)) {
    return context.Fail(StrCat("operand ", input, " is ", Text(*shape), ", but its term has ",
                               letters, " letters"));
  }
  size_t axis = 0;
  for (char letter : term) {
    if (letter == kEllipsis) {
      const size_t count = shape->size() - letters;
      const Shape covered(shape->begin() + axis, shape->begin() + axis + count);
      const std::array<const Shape*, 2> both{&sizes.ellipsis, &covered};
      std::optional<Shape> joined = Broadcast(both);
      if (!joined) {
        return context.Fail(StrCat("the axes behind '...', ", Text(sizes.ellipsis), " and ",
                                   Text(covered), ", do not broadcast"));
      }
      sizes.ellipsis = *std::move(joined);
      axis += count;
      continue;
    }
    const Dim& dim = (*shape)[axis++];
    auto [known, is_new] = sizes.letters.emplace(letter, dim);
    if (is_new) continue;
    // A size of 1 stretches to the others of its letter.
    if (known->second == Dim(1)) known->second = dim;
    if (dim == Dim(1)) continue;
    PLIMSOLL_TRY(CheckEqual(context, StrCat("the sizes of letter ", letter), known->second, dim));
    known->second = Clearer(known->second, dim);
  }
  return {};
}

}  // namespace

std::optional<EinsumEquation> ParseEinsum(std::string_view text, std::string_view& unreadable) {
  const size_t arrow = text.find("->");
  EinsumEquation equation;
  const auto parse = [&unreadable](std::string_view part) {
    unreadable = part;
    return ParseTerm(part);
  };
  for (std::string_view part : Split(text.substr(0, arrow), ',')) {
    std::optional<Term> term = parse(part);
    if (!term) return std::nullopt;
    equation.inputs.push_back(*std::move(term));
  }
  if (arrow == std::string_view::npos) {
    equation.output = ImpliedOutput(equation.inputs);
    return equation;
  }
  std::optional<Term> output = parse(text.substr(arrow + 2));
  if (!output) return std::nullopt;
  equation.output = *std::move(output);
  return equation;
}

Status InferEinsum(InferContext& context) {
  PLIMSOLL_ASSIGN(const EinsumEquation equation, ReadEquation(context));
  Sizes sizes;
  DataType type = DataType::kUndefined;
  for (size_t input = 0; input < context.input_count(); ++input) {
    PLIMSOLL_TRY(CheckTensor(context, input));
    PLIMSOLL_TRY(CheckSameType(context, {0, input}));
    if (type == DataType::kUndefined) type = context.input_data_type(input);
    PLIMSOLL_TRY(ReadOperand(context, input, equation.inputs[input], sizes));
  }
  if (equation.output.find(kEllipsis) != Term::npos && !sizes.ellipsis_known) {
    context.SetOutputOfUnknownRank(0, type);
    return {};
  }
  Shape shape;
  for (char letter : equation.output) {
    if (letter == kEllipsis) {
      shape.insert(shape.end(), sizes.ellipsis.begin(), sizes.ellipsis.end());
      continue;
    }
    const bool occurs =
        std::any_of(equation.inputs.begin(), equation.inputs.end(),
                    [letter](const Term& term) { return term.find(letter) != Term::npos; });
    if (!occurs) return context.Fail(StrCat("letter ", letter, " of the output is in no operand"));
    const auto known = sizes.letters.find(letter);
    shape.push_back(known != sizes.letters.end() ? known->second
                                                 : context.UnknownDim(0, shape.size()));
  }
  context.SetOutput(0, type, std::move(shape));
  return {};
}

}  // namespace plimsoll::graph::operators
