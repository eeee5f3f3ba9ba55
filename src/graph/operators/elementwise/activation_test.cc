#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace activation_test {

TEST(ActivationTest, KeepsTypeAndShape) {
  for (const std::string op :
       {"Relu", "LeakyRelu", "ThresholdedRelu", "Elu", "Selu", "Celu", "Gelu", "Mish", "Swish",
        "Sigmoid", "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Shrink", "Clip"}) {
    Check({op, 24, {"float16[2,n]"}, {}, {"float16[2,n]"}});
  }
  Check({"Swish", 23, {"float32[2]"}, {}, {"fails: no row"}});
}

TEST(ActivationTest, ReluFollowsCounts) {
  CheckAll({
      {"Relu", 14, {"float32[2]{-1.5,2}"}, {}, {"float32[2]{0,2}"}},
      {"Relu", 14, {"int64[3]{-1,2,n}"}, {}, {"int64[3]{0,2,n}"}},
  });
}

TEST(ActivationTest, ClipTakesBoundsAsAttributesThenAsInputs) {
  CheckAll({
      {"Clip", 6, {"float32[n]"}, {{"min", 0.0}, {"max", 6.0}}, {"float32[n]"}},
      {"Clip", 10, {"float32[n]", "float32[]"}, {}, {"fails: input count"}},
      {"Clip", 11, {"float32[n]", "", "float32[]"}, {}, {"float32[n]"}},
      {"Clip",
       12,
       {"int64[2]{n + 3,9}", "int64[]{1}", "int64[]{5}"},
       {},
       {"int64[2]{min(2, n) + 3,5}"}},
      {"Clip", 12, {"int64[1]{9}", "int64[]", "int64[]{5}"}, {}, {"int64[1]"}},
      {"Clip", 12, {"float32[3]{-2,1.5,9}", "float32[]{0}"}, {}, {"float32[3]{0,1.5,9}"}},
      {"Clip", 12, {"float32[3]{-2,1.5,9}", "", "float32[1]{4}"}, {}, {"float32[3]{-2,1.5,4}"}},
      {"Clip", 12, {"float32[1]{9}", "float32[]", "float32[]{5}"}, {}, {"float32[1]"}},
      {"Clip", 12, {"float32[n]", "float64[]"}, {}, {"fails: must have one type"}},
      {"Clip", 12, {"float32[n]", "float32[2]"}, {}, {"fails: is no scalar: [2]"}},
  });
}

TEST(ActivationTest, SoftmaxChecksItsAxisByVersion) {
  for (const std::string op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    CheckAll({
        {op, 13, {"float32[2,n]"}, {}, {"float32[2,n]"}},
        {op, 13, {"float32[2,n]"}, {{"axis", int64_t{2}}}, {"fails: axis 2 is outside [2,n]"}},
        {op, 12, {"float32[2,n]"}, {{"axis", int64_t{2}}}, {"float32[2,n]"}},
        {op, 12, {"float32[n]"}, {}, {"float32[n]"}},
        {op, 12, {"float32[2,n]"}, {{"axis", int64_t{3}}}, {"fails: axis 3 is outside"}},
    });
  }
}

TEST(ActivationTest, TheSlopeOfPReluBroadcastsOneWay) {
  CheckAll({
      {"PRelu", 9, {"float32[2,3,n]", "float32[3,1]"}, {}, {"float32[2,3,n]"}},
      {"PRelu", 9, {"float32[3,1]", "float32[2,3,4]"}, {}, {"fails: the slope [2,3,4] does not"}},
      {"PRelu", 9, {"float32[3]", "float32[2]"}, {}, {"fails: do not broadcast"}},
  });
}

TEST(ActivationTest, GateAndValueOfSwiGluHaveOneShape) {
  CheckAll({
      {"SwiGLU", 28, {"float32[2,n]", "float32[2,8]"}, {}, {"float32[2,8]"}},
      {"SwiGLU", 28, {"float32[...]", "float32[2,8]"}, {}, {"float32[2,8]"}},
      {"SwiGLU", 28, {"float32[2,1]", "float32[2,8]"}, {}, {"fails: must have one shape"}},
      {"SwiGLU", 28, {"float32[8]", "float32[2,8]"}, {}, {"fails: must have one shape"}},
  });
}

}  // namespace activation_test
}  // namespace plimsoll::graph::operators
