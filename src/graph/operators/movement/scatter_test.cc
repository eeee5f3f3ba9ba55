#include <gtest/gtest.h>

#include "graph/operator_row.h"
#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace scatter_test {

TEST(ScatterTest, TheOutputHasTheShapeOfTheData) {
  for (const std::string op : {"Scatter", "ScatterElements"}) {
    CheckAll({
        {op, 11, {"float32[5,n]", "int64[2,3]", "float32[2,3]"}, {}, {"float32[5,n]"}},
        {op, 11, {"float32[5,n]", "int64[2]", "float32[2]"}, {}, {"fails: differ in rank"}},
        {op,
         11,
         {"float32[5]", "int64[2]", "float32[3]"},
         {},
         {"fails: updates [3] should be [2]"}},
        {op, 11, {"float32[5]", "int64[2]", "int32[2]"}, {}, {"fails: must have one type"}},
        {op,
         11,
         {"float32[5]", "int64[2]", "float32[2]"},
         {{"axis", int64_t{1}}},
         {"fails: axis 1"}},
    });
  }
  CheckAll({
      {"ScatterND", 11, {"float32[5,n]", "int64[2,1]", "float32[2,n]"}, {}, {"float32[5,n]"}},
      {"ScatterND",
       16,
       {"float32[5,4]", "int64[2,1]", "float32[2,3]"},
       {},
       {"fails: should be [2,4]"}},
      {"ScatterND",
       16,
       {"float32[5]", "int64[2,2]", "float32[2]"},
       {},
       {"fails: 2 parts is too long"}},
      {"ScatterND", 16, {"float32[5]", "int64[]", "float32[2]"}, {}, {"fails: are a scalar"}},
  });
}

TEST(ScatterTest, ACacheIsUpdatedOnItsSequenceAxis) {
  CheckAll({
      {"TensorScatter",
       24,
       {"float32[b,8,512,64]", "float32[b,8,n,64]", "int64[b]"},
       {},
       {"float32[b,8,512,64]"}},
      {"TensorScatter",
       24,
       {"float32[b,8,64]", "float32[b,1,32]"},
       {},
       {"fails: should be [b,1,64]"}},
      {"TensorScatter", 24, {"float32[b,8]", "float32[b,1]"}, {}, {"fails: axis 0 is the batch"}},
  });
}

TEST(ScatterTest, R51_AScatterWritesOverItsDataAndAsksForNoZeros) {
  for (const std::string op : {"Scatter", "ScatterElements", "ScatterND", "TensorScatter"}) {
    EXPECT_EQ(FindOperator("", op, op == "TensorScatter" ? 24 : 18)->facts.memory, nullptr) << op;
  }
}

}  // namespace scatter_test
}  // namespace plimsoll::graph::operators
