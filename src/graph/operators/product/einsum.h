#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/infer_context.h"

namespace plimsoll::graph::operators {

// The terms of an equation such as "bij,bjk->bik", one letter an axis and '.' for an ellipsis.
struct EinsumEquation {
  static constexpr char kEllipsis = '.';
  std::vector<std::string> inputs;
  std::string output;  // without "->": the letters that occur once, by their codes, after '.'
};

// Nothing where a term cannot be read; `unreadable` is then that term.
std::optional<EinsumEquation> ParseEinsum(std::string_view text, std::string_view& unreadable);

// The shape rule of `Einsum`: sums products over the letters of attribute `equation`, such as
// "bij,bjk->bik", "...ij->...ji" or, with the output left to alphabetical order, "ij,jk".
Status InferEinsum(InferContext& context);

}  // namespace plimsoll::graph::operators
