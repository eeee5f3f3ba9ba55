#pragma once

#include "graph/infer_context.h"

namespace plimsoll::graph::operators {

// The shape rule of `Einsum`: sums products over the letters of attribute `equation`, such as
// "bij,bjk->bik", "...ij->...ji" or, with the output left to alphabetical order, "ij,jk".
Status InferEinsum(InferContext& context);

}  // namespace plimsoll::graph::operators
