#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace split_test {

TEST(SplitTest, SizesAreAnAttributeThenAnInput) {
  CheckAll({
      {"Split", 2, {"float32[6,n]"}, {{"split", Ints{2, 4}}}, {"float32[2,n]", "float32[4,n]"}},
      {"Split", 13, {"float32[6,n]", "int64[2]{2,4}"}, {}, {"float32[2,n]", "float32[4,n]"}},
      {"Split", 13, {"float32[6,n]", "int64[2]"}, {}, {"float32[?,n]", "float32[?,n]"}},
      {"Split", 12, {"float32[6]", "int64[2]{2,4}"}, {}, {"fails: input count", ""}},
      {"Split", 13, {"float32[...]"}, {}, {"float32[...]", "float32[...]"}},
  });
}

TEST(SplitTest, EqualPartsMayLeaveASmallerOneSinceVersion18) {
  const std::pair<std::string, Attribute> three{"num_outputs", int64_t{3}};
  CheckAll({
      {"Split", 11, {"float32[6]"}, {}, {"float32[3]", "float32[3]"}},
      {"Split", 11, {"float32[2*n]"}, {}, {"float32[n]", "float32[n]"}},
      {"Split", 13, {"float32[7]"}, {}, {"fails: 7 elements do not split into 2 equal", ""}},
      {"Split", 18, {"float32[7]"}, {three}, {"float32[3]", "float32[3]", "float32[1]"}},
      {"Split", 18, {"float32[2]"}, {three}, {"float32[1]", "float32[1]", "float32[0]"}},
      {"Split", 18, {"float32[3*n]"}, {three}, {"float32[n]", "float32[n]", "float32[n]"}},
      {"Split", 18, {"float32[6]"}, {three}, {"fails: num_outputs is 3 but there are 2", ""}},
  });
}

TEST(SplitTest, KnownElementsAreShared) {
  Check({"Split", 13, {"int64[3]{n,2,3}", "int64[2]{1,2}"}, {}, {"int64[1]{n}", "int64[2]{2,3}"}});
}

TEST(SplitTest, SizesThatDoNotFitAreRefused) {
  CheckAll({
      {"Split", 13, {"float32[6]", "int64[2]{2,5}"}, {}, {"fails: add up to 7, not to 6", ""}},
      {"Split", 13, {"float32[6]", "int64[2]{-1,7}"}, {}, {"fails: not all positive", ""}},
      {"Split", 13, {"float32[6]", "int64[3]{2,2,2}"}, {}, {"fails: 3 sizes for 2 outputs", ""}},
      {"Split", 13, {"float32[6]"}, {{"axis", int64_t{4}}}, {"fails: axis 4 is outside"}},
  });
}

}  // namespace split_test
}  // namespace plimsoll::graph::operators
