#pragma once

#include "graph/infer_context.h"

namespace plimsoll::graph::operators {

// `Resize` from version 11: by input 2 (scales) or input 3 (sizes), on all axes or on those of
// attribute `axes`.
Status InferResize(InferContext& context);

// `Resize` version 10 and `Upsample` from version 9: by input 1, a scale for each axis.
Status InferResizeByScales(InferContext& context);

// `Upsample` version 7: by attribute `scales`.
Status InferUpsampleByAttribute(InferContext& context);

}  // namespace plimsoll::graph::operators
