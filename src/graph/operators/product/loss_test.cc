#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace loss_test {

TEST(LossTest, IsOneNumberOrOneForEachLabel) {
  CheckAll({
      {"NegativeLogLikelihoodLoss", 12, {"float32[n,c,h]", "int64[n,h]"}, {}, {"float32[]"}},
      {"NegativeLogLikelihoodLoss",
       22,
       {"float32[n,5,h]", "int64[2,h]", "float32[5]"},
       {{"reduction", "none"}},
       {"float32[2,h]"}},
      {"SoftmaxCrossEntropyLoss",
       13,
       {"float32[n,c]", "int64[n]"},
       {{"reduction", "sum"}},
       {"float32[]", "float32[n,c]"}},
      {"SoftmaxCrossEntropyLoss",
       13,
       {"float32[...]", "int64[n]"},
       {{"reduction", "none"}},
       {"float32[n]"}},
      {"SoftmaxCrossEntropyLoss", 13, {"float32[2,3,4]", "int64[2]"}, {}, {"fails: one dimension"}},
      {"SoftmaxCrossEntropyLoss", 13, {"float32[2,3]", "int64[4]"}, {}, {"fails: 2 and 4"}},
      {"SoftmaxCrossEntropyLoss",
       13,
       {"float32[2,3]", "int64[2]", "float32[4]"},
       {},
       {"fails: must have 3 elements"}},
      {"SoftmaxCrossEntropyLoss",
       13,
       {"float32[2,3]", "int64[2]"},
       {{"reduction", "max"}},
       {"fails: 'max'"}},
  });
}

}  // namespace loss_test
}  // namespace plimsoll::graph::operators
