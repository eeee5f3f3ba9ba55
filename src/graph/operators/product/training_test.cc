#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace training_test {

TEST(TrainingTest, StepsGiveNewParametersAndStates) {
  const std::string domain = "ai.onnx.preview.training:";
  const std::string a = "float32[2]";
  const std::string b = "float32[n,3]";
  CheckAll({
      {domain + "Momentum", 1, {"float32[]", "int64[]", a, b, a, b, a, b}, {}, {a, b, a, b}},
      {domain + "Adagrad", 1, {"float32[]", "int64[]", a, a, a}, {}, {a, a}},
      {domain + "Adam", 1, {"float32[]", "int64[]", a, a, a, a}, {}, {a, a, a}},
      {domain + "Adam", 1, {"float32[]", "int64[]", a, a, a}, {}, {"fails: do not split"}},
      {domain + "Adagrad", 1, {"float32[]", "int64[]", a, b, a}, {}, {"fails: parameter 0"}},
      {domain + "Gradient", 1, {a, b}, {{"xs", Strings{"a", "b"}}, {"y", "c"}}, {a, b}},
      {domain + "Gradient", 1, {a}, {{"xs", Strings{"a", "b"}}}, {"fails: attribute xs"}},
  });
}

}  // namespace training_test
}  // namespace plimsoll::graph::operators
