#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace pad_test {

TEST(PadTest, PadsAreAnAttributeThenAnInput) {
  CheckAll({
      {"Pad", 2, {"float32[2,n]"}, {{"pads", Ints{0, 1, 3, 1}}}, {"float32[5,n + 2]"}},
      {"Pad", 2, {"float32[...]"}, {{"pads", Ints{0, 1, 3, 1}}}, {"float32[?,?]"}},
      {"Pad", 2, {"float32[2]"}, {}, {"fails: attribute pads is missing"}},
      {"Pad", 11, {"float32[2,n]", "int64[4]{0,p,3,-1}"}, {}, {"float32[5,n + p - 1]"}},
      {"Pad", 13, {"float32[2,n]", "int64[4]"}, {}, {"float32[?,?]"}},
      {"Pad", 13, {"float32[2,n]", "int64[4]", "", "int64[1]"}, {}, {"fails: input count"}},
  });
}

TEST(PadTest, SinceVersion18AxesMayBeNamed) {
  CheckAll({
      {"Pad", 18, {"float32[2,n]", "int64[2]{1,1}", "", "int64[1]{-1}"}, {}, {"float32[2,n + 2]"}},
      {"Pad", 19, {"float32[2,n]", "int64[2]", "", "int64[1]{0}"}, {}, {"float32[?,n]"}},
      {"Pad", 19, {"float32[2,n]", "int64[2]{1,1}", "", "int64[1]"}, {}, {"float32[?,?]"}},
      {"Pad",
       18,
       {"float32[2,3]", "int64[2]{1,1}", "", "int64[1]{2}"},
       {},
       {"fails: axis 2 is outside"}},
  });
}

TEST(PadTest, PadsThatDoNotFitAreRefused) {
  CheckAll({
      {"Pad", 13, {"float32[2,3]", "int64[2]{1,1}"}, {}, {"fails: there are 2 pads for 2 axes"}},
      {"Pad", 13, {"float32[2]", "int64[2]{-2,-1}"}, {}, {"fails: take more from axis 0"}},
  });
}

TEST(PadTest, CenterCropPadTakesItsTarget) {
  CheckAll({
      {"CenterCropPad", 18, {"float32[20,n,3]", "int64[3]{10,7,3}"}, {}, {"float32[10,7,3]"}},
      {"CenterCropPad",
       18,
       {"float32[20,n]", "int64[1]{9}"},
       {{"axes", Ints{-1}}},
       {"float32[20,9]"}},
      {"CenterCropPad", 18, {"float32[20,n]", "int64[1]"}, {{"axes", Ints{0}}}, {"float32[?,n]"}},
      {"CenterCropPad", 18, {"float32[20,8]", "int64[1]{9}"}, {}, {"fails: another length"}},
      {"CenterCropPad", 18, {"float32[20]", "int64[1]{-9}"}, {}, {"fails: negative dimension"}},
  });
}

}  // namespace pad_test
}  // namespace plimsoll::graph::operators
