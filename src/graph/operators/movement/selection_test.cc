#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace selection_test {

TEST(SelectionTest, OnlyDataTellsHowMuchIsSelected) {
  CheckAll({
      {"NonZero", 9, {"float32[2,n]"}, {}, {"int64[2,?]"}},
      {"NonZero", 13, {"float32[]"}, {}, {"int64[0,?]"}},
      {"NonZero", 13, {"float32[...]"}, {}, {"int64[?,?]"}},
      {"Compress", 9, {"float32[2,n]", "bool[2]"}, {}, {"float32[?]"}},
      {"Compress", 11, {"float32[2,n]", "bool[2]"}, {{"axis", int64_t{0}}}, {"float32[?,n]"}},
      {"Compress",
       11,
       {"float32[2]", "bool[2]"},
       {{"axis", int64_t{1}}},
       {"fails: axis 1 is outside"}},
      {"Unique", 11, {"float32[2,n]"}, {}, {"float32[?]", "int64[?]", "int64[2*n]", "int64[?]"}},
      {"Unique",
       11,
       {"float32[2,n]"},
       {{"axis", int64_t{0}}},
       {"float32[?,n]", "int64[?]", "int64[2]", "int64[?]"}},
      {"Unique", 11, {"float32[...]"}, {{"axis", int64_t{0}}}, {"float32[...]", "int64[?]"}},
      {"NonMaxSuppression", 10, {"float32[1,n,4]", "float32[1,c,n]"}, {}, {"int64[?,3]"}},
      {"NonMaxSuppression",
       11,
       {"float32[n,4]", "float32[1,c,n]"},
       {},
       {"fails: is not of rank 3"}},
  });
}

TEST(SelectionTest, KnownElementsTellToo) {
  CheckAll({
      {"NonZero", 13, {"int64[2,2]{1,0,3,4}"}, {}, {"int64[2,3]{0,1,1,0,0,1}"}},
      {"NonZero", 13, {"float32[3]{0,0.5,0}"}, {}, {"int64[1,1]{1}"}},
      {"Compress", 9, {"float32[3,n]", "bool[2]{0,1}"}, {{"axis", int64_t{0}}}, {"float32[1,n]"}},
      {"Compress", 9, {"float32[2]", "bool[4]{0,1,1,1}"}, {}, {"float32[1]"}},
      {"Unique", 11, {"int64[4]{7,1,7,1}"}, {}, {"int64[2]", "int64[2]", "int64[4]", "int64[2]"}},
      {"Unique",
       11,
       {"int64[3,2]{1,0,1,0,2,3}"},
       {{"axis", int64_t{0}}},
       {"int64[2,2]", "int64[2]", "int64[3]", "int64[2]"}},
      {"Unique", 11, {"int64[4611686018427387904,0]{}"}, {{"axis", int64_t{0}}}, {"int64[?,0]"}},
  });
}

}  // namespace selection_test
}  // namespace plimsoll::graph::operators
