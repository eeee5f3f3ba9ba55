#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace layout_test {

TEST(LayoutTest, ReshapeWorksOutWhatIsLeftOpen) {
  CheckAll({
      {"Reshape", 13, {"float32[2,6]", "int64[2]{3,-1}"}, {}, {"float32[3,4]"}},
      {"Reshape", 5, {"float32[n,4,m]", "int64[3]{0,0,-1}"}, {}, {"float32[n,4,m]"}},
      {"Reshape", 13, {"float32[b,s,768]", "int64[4]{b,s,12,-1}"}, {}, {"float32[b,s,12,64]"}},
      {"Reshape", 13, {"float32[b,s,8]", "int64[2]{-1,8}"}, {}, {"float32[b*s,8]"}},
      {"Reshape", 13, {"float32[0,3]", "int64[2]{0,-1}"}, {}, {"float32[0,3]"}},
      {"Reshape",
       14,
       {"float32[0,3]", "int64[2]{5,0}"},
       {{"allowzero", int64_t{1}}},
       {"float32[5,0]"}},
      {"Reshape", 13, {"float32[1]", "int64[0]{}"}, {}, {"float32[]"}},
      {"Reshape", 13, {"float32[...]", "int64[2]{0,-1}"}, {}, {"float32[?,?]"}},
      {"Reshape", 13, {"float32[2,3]", "int64[3]"}, {}, {"float32[?,?,?]"}},
      {"Reshape", 13, {"float32[2,3]", "int64[n]"}, {}, {"float32[...]"}},
      {"Reshape", 13, {"int64[2]{n,3}", "int64[2]{1,2}"}, {}, {"int64[1,2]{n,3}"}},
  });
}

TEST(LayoutTest, ReshapeRefusesTargetsThatCannotBe) {
  CheckAll({
      {"Reshape", 13, {"float32[2,3]", "int64[2]{4,-1}"}, {}, {"fails: leaves a rest"}},
      {"Reshape", 13, {"float32[2,3]", "int64[2]{4,2}"}, {}, {"fails: [2,3] cannot become [4,2]"}},
      {"Reshape", 13, {"float32[2,3]", "int64[2]{-1,-1}"}, {}, {"fails: has two -1"}},
      {"Reshape", 13, {"float32[2,3]", "int64[2]{-2,3}"}, {}, {"fails: negative dimension"}},
      {"Reshape", 13, {"float32[2,3]", "int64[3]{2,3,0}"}, {}, {"fails: has no such axis"}},
      {"Reshape",
       14,
       {"float32[6]", "int64[2]{0,-1}"},
       {{"allowzero", int64_t{1}}},
       {"fails: a rest"}},
  });
}

TEST(LayoutTest, FlattenMakesAMatrix) {
  CheckAll({
      {"Flatten", 9, {"float32[n,3,4]"}, {}, {"float32[n,12]"}},
      {"Flatten", 13, {"float32[n,3,4]"}, {{"axis", int64_t{-1}}}, {"float32[3*n,4]"}},
      {"Flatten", 13, {"float32[n,3]"}, {{"axis", int64_t{0}}}, {"float32[1,3*n]"}},
      {"Flatten", 13, {"float32[...]"}, {}, {"float32[?,?]"}},
      {"Flatten", 13, {"float32[2]"}, {{"axis", int64_t{2}}}, {"fails: axis 2 is outside [2]"}},
  });
}

TEST(LayoutTest, SqueezeAndUnsqueezeTakeAxesByVersion) {
  CheckAll({
      {"Squeeze", 11, {"float32[1,n,1]"}, {{"axes", Ints{0, -1}}}, {"float32[n]"}},
      {"Squeeze", 13, {"float32[1,n,1]", "int64[1]{0}"}, {}, {"float32[n,1]"}},
      {"Squeeze", 13, {"float32[1,3,1]"}, {}, {"float32[3]"}},
      {"Squeeze", 13, {"float32[1,n,1]"}, {}, {"float32[...]"}},
      {"Squeeze", 13, {"float32[1,3]", "int64[1]"}, {}, {"float32[...]"}},
      {"Squeeze", 13, {"int64[1]{n}", "int64[1]{0}"}, {}, {"int64[]{n}"}},
      {"Squeeze", 13, {"float32[1,3]", "int64[1]{1}"}, {}, {"fails: axis 1 of [1,3] is not 1"}},
      {"Squeeze", 13, {"float32[1,3]", "int64[1]{2}"}, {}, {"fails: axis 2 is outside"}},
      {"Unsqueeze", 11, {"float32[n]"}, {{"axes", Ints{0, 2}}}, {"float32[1,n,1]"}},
      {"Unsqueeze", 13, {"float32[n]", "int64[1]{-1}"}, {}, {"float32[n,1]"}},
      {"Unsqueeze", 13, {"int64[]{n}", "int64[1]{0}"}, {}, {"int64[1]{n}"}},
      {"Unsqueeze", 13, {"float32[n]", "int64[2]{1,-2}"}, {}, {"fails: is named twice"}},
      {"Unsqueeze", 11, {"float32[n]"}, {}, {"fails: names no axes"}},
  });
}

TEST(LayoutTest, TransposeReordersShapeAndElements) {
  CheckAll({
      {"Transpose", 13, {"float32[2,n,4]"}, {}, {"float32[4,n,2]"}},
      {"Transpose", 13, {"float32[2,n,4]"}, {{"perm", Ints{0, 2, 1}}}, {"float32[2,4,n]"}},
      {"Transpose", 13, {"float32[...]"}, {{"perm", Ints{1, 0}}}, {"float32[?,?]"}},
      {"Transpose", 1, {"int64[2,3]{1,2,3,4,5,n}"}, {}, {"int64[3,2]{1,4,2,5,3,n}"}},
      {"Transpose", 13, {"float32[2,3]"}, {{"perm", Ints{0, 0}}}, {"fails: axis 0 is named twice"}},
      {"Transpose",
       13,
       {"float32[2,3]"},
       {{"perm", Ints{0}}},
       {"fails: perm has 1 axes for [2,3]"}},
      {"Transpose", 13, {"float32[2,3]"}, {{"perm", Ints{0, 5}}}, {"fails: axis 5 is outside"}},
  });
}

TEST(LayoutTest, IdentityPassesAnything) {
  CheckAll({
      {"Identity", 16, {"seq(float32[2,n])"}, {}, {"seq(float32[2,n])"}},
      {"Identity", 1, {"int64[2]{n,3}"}, {}, {"int64[2]{n,3}"}},
  });
}

}  // namespace layout_test
}  // namespace plimsoll::graph::operators
