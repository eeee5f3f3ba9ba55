#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace random_test {

TEST(RandomTest, ShapesComeFromAttributesOrFromAnotherTensor) {
  for (const std::string op : {"RandomNormal", "RandomUniform"}) {
    CheckAll({
        {op, 1, {}, {{"shape", Ints{2, 3}}}, {"float32[2,3]"}},
        {op, 22, {}, {{"shape", Ints{2}}, {"dtype", int64_t{10}}}, {"float16[2]"}},
        {op, 1, {}, {}, {"fails: attribute shape is missing"}},
        {op, 1, {}, {{"shape", Ints{-2}}}, {"fails: the dimension -2"}},
        {op, 1, {}, {{"shape", Ints{2}}, {"dtype", int64_t{-3}}}, {"fails: no element type"}},
    });
  }
  for (const std::string op : {"RandomNormalLike", "RandomUniformLike", "Bernoulli"}) {
    CheckAll({
        {op, 15, {"float16[2,n]"}, {}, {"float16[2,n]"}},
        {op, 15, {"float16[2,n]"}, {{"dtype", int64_t{1}}}, {"float32[2,n]"}},
    });
  }
}

TEST(RandomTest, MultinomialDrawsSamplesOfEachRow) {
  const std::pair<std::string, Attribute> nine{"sample_size", int64_t{9}};
  CheckAll({
      {"Multinomial", 7, {"float32[n,5]"}, {nine}, {"int32[n,9]"}},
      {"Multinomial", 7, {"float32[...]"}, {{"dtype", int64_t{7}}}, {"int64[?,1]"}},
      {"Multinomial", 7, {"float32[5]"}, {}, {"fails: [5] is not [batch, classes]"}},
  });
}

TEST(RandomTest, WindowsAndFilterBanksAreGivenBySize) {
  for (const std::string op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    CheckAll({
        {op, 17, {"int64[]{n}"}, {}, {"float32[n]"}},
        {op, 17, {"int64[]"}, {{"output_datatype", int64_t{11}}}, {"float64[?]"}},
        {op, 17, {"int64[]{-1}"}, {}, {"fails: input 0 gives the size -1"}},
    });
  }
  const std::string rest = "float32[]";
  CheckAll({
      {"MelWeightMatrix",
       17,
       {"int64[]{8}", "int64[]{16}", "int64[]", rest, rest},
       {},
       {"float32[9,8]"}},
      {"MelWeightMatrix", 17, {"int64[]", "int64[]", "int64[]", rest, rest}, {}, {"float32[?,?]"}},
  });
}

}  // namespace random_test
}  // namespace plimsoll::graph::operators
