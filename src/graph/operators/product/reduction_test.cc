#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace reduction_test {

TEST(ReductionTest, AxesAreAnAttributeThenAnInput) {
  for (const std::string op :
       {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2",
        "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    const int moved = op == "ReduceSum" ? 13 : 18;
    CheckAll({
        {op, moved - 1, {"float32[2,n,4]"}, {{"axes", Ints{1, -1}}}, {"float32[2,1,1]"}},
        {op, moved - 1, {"float32[2,n,4]", "int64[1]{1}"}, {}, {"fails: input count"}},
        {op, moved, {"float32[2,n,4]", "int64[1]{1}"}, {}, {"float32[2,1,4]"}},
        {op,
         moved,
         {"float32[2,n,4]", "int64[1]{1}"},
         {{"keepdims", int64_t{0}}},
         {"float32[2,4]"}},
        {op, moved, {"float32[2,n,4]"}, {{"keepdims", int64_t{0}}}, {"float32[]"}},
        {op, moved, {"float32[2,n]"}, {{"noop_with_empty_axes", int64_t{1}}}, {"float32[2,n]"}},
        {op, moved, {"float32[2,n]", "int64[1]"}, {}, {"float32[?,?]"}},
        {op, moved, {"float32[2,n]", "int64[1]"}, {{"keepdims", int64_t{0}}}, {"float32[...]"}},
        {op, moved, {"float32[2,n]", "int64[1]{2}"}, {}, {"fails: axis 2 is outside [2,n]"}},
        {op, moved, {"float32[]"}, {}, {"float32[]"}},
    });
  }
}

TEST(ReductionTest, SizesAreReduced) {
  const std::pair<std::string, Attribute> drop{"keepdims", int64_t{0}};
  CheckAll({
      {"ReduceProd", 18, {"int64[3]{2,n,3}"}, {drop}, {"int64[]{6*n}"}},
      {"ReduceSum", 13, {"int64[2,2]{1,2,n,4}", "int64[1]{0}"}, {drop}, {"int64[2]{n + 1,6}"}},
      {"ReduceMax", 18, {"int64[3]{2,9,3}"}, {}, {"int64[1]{9}"}},
      {"ReduceMin", 18, {"int64[3]{2,9,3}"}, {}, {"int64[1]{2}"}},
      {"ReduceMean", 18, {"int64[3]{2,9,4}"}, {}, {"int64[1]"}},
  });
}

TEST(ReductionTest, ArgumentsOfExtremesAreIndices) {
  for (const std::string op : {"ArgMax", "ArgMin"}) {
    CheckAll({
        {op, 13, {"float32[2,n]"}, {}, {"int64[1,n]"}},
        {op, 13, {"float32[2,n]"}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}}, {"int64[2]"}},
        {op, 13, {"float32[2,n]"}, {{"axis", int64_t{2}}}, {"fails: axis 2 is outside"}},
    });
  }
}

TEST(ReductionTest, CumulationKeepsTheShape) {
  for (const std::string op : {"CumSum", "CumProd"}) {
    CheckAll({
        {op, 26, {"float32[2,n]", "int64[]{-1}"}, {}, {"float32[2,n]"}},
        {op, 26, {"float32[2,n]", "int64[]"}, {}, {"float32[2,n]"}},
        {op, 26, {"float32[2,n]", "int64[]{2}"}, {}, {"fails: axis 2 is outside"}},
    });
  }
}

TEST(ReductionTest, TopKReadsItsCountByVersion) {
  CheckAll({
      {"TopK", 1, {"float32[2,9]"}, {{"k", int64_t{3}}}, {"float32[2,3]", "int64[2,3]"}},
      {"TopK", 10, {"float32[2,9]", "int64[1]{3}"}, {}, {"float32[2,3]", "int64[2,3]"}},
      {"TopK",
       11,
       {"float32[2,n]", "int64[1]{k}"},
       {{"axis", int64_t{0}}},
       {"float32[k,n]", "int64[k,n]"}},
      {"TopK", 24, {"float32[2,n]", "int64[1]"}, {}, {"float32[2,?]", "int64[2,?]"}},
      {"TopK", 11, {"float32[2,9]", "int64[1]{10}"}, {}, {"fails: cannot take the top 10", ""}},
      {"TopK", 11, {"float32[2,9]", "int64[1]{-1}"}, {}, {"fails: cannot take the top -1", ""}},
  });
}

}  // namespace reduction_test
}  // namespace plimsoll::graph::operators
