#pragma once

#include "engine/session_for_tests.h"

namespace plimsoll::engine {

// The sums of e^x by column, with the rows kept separate in between: two tensors of x's size are
// alive at once. Of zeros they are the number of rows.
inline graph::Graph ColumnSums(const graph::Dim& rows, int64_t columns) {
  graph::GraphBuilder builder;
  const graph::ValueId x = builder.Input("x", compile::FloatTensor({rows, columns}));
  const graph::ValueId turned = builder.Node("Transpose", {builder.Node("Exp", {x})});
  const graph::ValueId sums = builder.Node("CumSum", {turned, builder.Int64s("axis", {1})});
  builder.Output(builder.Node("ReduceMax", {sums, builder.Int64s("axes", {1})}));
  return builder.Build();
}

inline kernels::HostTensor ZeroRows(int64_t rows, int64_t columns) {
  return Floats({rows, columns}, std::vector<float>(static_cast<size_t>(rows * columns)));
}

}  // namespace plimsoll::engine
