#pragma once

#include "graph/infer_context.h"

namespace plimsoll::graph::operators {

// `Scan` from version 9: states, then inputs that are walked along one of their axes each.
Status InferScan(InferContext& context);

// `Scan` version 8: the lengths of the sequences, then states [batch, ...], then inputs
// [batch, sequence, ...].
Status InferScanOfBatches(InferContext& context);

}  // namespace plimsoll::graph::operators
