#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "plimsoll/base/status.h"

namespace plimsoll::compile {

// Constants whose data is missing, in a model that is compiled to be looked at: they have addresses
// of their own, so that they can be told apart, cut and packed like any other, but no memory behind
// these. What passes would work out of them is assumed too: its type and shape are known, its
// elements are not. Passes that ask for elements are told that these are not known.

// Gives every missing constant addresses, those of one file in the order of that file. Fails where
// the process has no addresses left.
Status AssumeMissing(graph::Graph& graph);

bool IsAssumed(const graph::ConstantTensor& constant);

// A constant of this type and shape that nobody knows the elements of.
Result<graph::ConstantTensor> AssumedConstant(graph::DataType type, std::vector<int64_t> dims);

}  // namespace plimsoll::compile
