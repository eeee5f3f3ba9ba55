#pragma once

#include <optional>

#include "graph/attribute.h"
#include "onnx/wire/records.h"
#include "plimsoll/base/status.h"

namespace plimsoll::onnx {

// Whether an operator is one of those that ContributedFunction knows, whatever its attributes, in
// an operator set of its domain. Some of the standard's domain are its own in later ones.
bool IsContributedFunction(const NodeRecord& node, int version);

// What an operator of com.microsoft means where it is a composition of others: a function for this
// very node, with the inputs and outputs that it has. Nothing where the operator is no such
// composition; those have rows of their own (graph/operators/contributed). `attributes` are the
// node's, references resolved. The error says why alone: what the node asks for that there is not.
// Views in the record are to constants, or to the node's own.
Result<std::optional<FunctionRecord>> ContributedFunction(const NodeRecord& node,
                                                          const graph::Attributes& attributes);

// The operator sets that the bodies of these functions are written in.
std::vector<OpsetRecord> ContributedOpsets();

}  // namespace plimsoll::onnx
