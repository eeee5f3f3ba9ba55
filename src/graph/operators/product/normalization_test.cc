#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace normalization_test {

TEST(NormalizationTest, KeepsTheShapeOfItsData) {
  const std::string c = "float32[c]";
  CheckAll({
      {"BatchNormalization", 7, {"float32[n,c,h]", c, c, c, c}, {}, {"float32[n,c,h]", c, c, c, c}},
      {"BatchNormalization",
       7,
       {"float32[n,2,3]", "float32[2,3]", "float32[2,3]", "float32[2,3]", "float32[2,3]"},
       {{"spatial", int64_t{0}}},
       {"float32[n,2,3]", "float32[2,3]"}},
      {"BatchNormalization",
       15,
       {"float16[n,3,h]", "float32[3]", "float32[3]", c, c},
       {},
       {"float16[n,3,h]", c, c}},
      {"BatchNormalization",
       15,
       {"float32[n,3,h]", "float32[4]", c, c, c},
       {},
       {"fails: must have 3 elements"}},
      {"InstanceNormalization", 6, {"float32[n,c,h]", c, c}, {}, {"float32[n,c,h]"}},
      {"GroupNormalization",
       18,
       {"float32[n,4,h]", "float32[2]", "float32[2]"},
       {{"num_groups", int64_t{2}}},
       {"float32[n,4,h]"}},
      {"GroupNormalization",
       21,
       {"float32[n,4,h]", "float32[4]", "float32[4]"},
       {{"num_groups", int64_t{3}}},
       {"fails: 4 channels do not split into 3"}},
      {"LRN", 13, {"float32[n,c,h,w]"}, {{"size", int64_t{3}}}, {"float32[n,c,h,w]"}},
      {"LpNormalization", 1, {"float32[n,c]"}, {}, {"float32[n,c]"}},
      {"LpNormalization", 1, {"float32[n,c]"}, {{"axis", int64_t{2}}}, {"fails: axis 2"}},
      {"MeanVarianceNormalization", 9, {"float32[n,c]"}, {}, {"float32[n,c]"}},
  });
}

TEST(NormalizationTest, TellsTheStatisticsOfNormalizedAxes) {
  CheckAll({
      {"LayerNormalization",
       17,
       {"float16[b,s,768]", "float16[768]"},
       {},
       {"float16[b,s,768]", "float32[b,s,1]", "float32[b,s,1]"}},
      {"LayerNormalization",
       17,
       {"float64[b,2,3]", "float64[2,3]"},
       {{"axis", int64_t{1}}, {"stash_type", int64_t{11}}},
       {"float64[b,2,3]", "float64[b,1,1]"}},
      {"LayerNormalization", 17, {"float32[2,3]", "float32[4]"}, {}, {"fails: does not broadcast"}},
      {"RMSNormalization", 23, {"float16[b,s,8]", "float32[8]"}, {}, {"float32[b,s,8]"}},
  });
}

TEST(NormalizationTest, DropsOutWithAMaskWhoseTypeChangedAtVersionTen) {
  CheckAll({
      {"Dropout", 7, {"float32[n]"}, {}, {"float32[n]", "float32[n]"}},
      {"Dropout", 10, {"float32[n]"}, {}, {"float32[n]", "bool[n]"}},
      {"Dropout", 13, {"float32[n]", "float32[]", "bool[]"}, {}, {"float32[n]", "bool[n]"}},
      {"Dropout", 10, {"float32[n]", "float32[]"}, {}, {"fails: input count"}},
  });
}

}  // namespace normalization_test
}  // namespace plimsoll::graph::operators
