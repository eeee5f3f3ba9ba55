#include <gtest/gtest.h>

#include "graph/operator_row.h"
#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace pooling_test {

TEST(PoolingTest, SlidesOverTheData) {
  CheckAll({
      {"MaxPool",
       1,
       {"float32[1,64,112,112]"},
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
       {"float32[1,64,56,56]"}},
      {"MaxPool",
       12,
       {"uint8[n,1,h,5]"},
       {{"kernel_shape", Ints{1, 5}}},
       {"uint8[n,1,h,1]", "int64[n,1,h,1]"}},
      {"AveragePool",
       19,
       {"float32[1,1,32,32]"},
       {{"kernel_shape", Ints{5, 5}}, {"strides", Ints{3, 3}}},
       {"float32[1,1,10,10]"}},
      {"LpPool",
       18,
       {"float32[1,1,7]"},
       {{"kernel_shape", Ints{2}}, {"dilations", Ints{2}}},
       {"float32[1,1,5]"}},
      {"LpPool", 2, {"float32[...]"}, {{"kernel_shape", Ints{2}}}, {"float32[?,?,?]"}},
      {"MaxPool", 12, {"float32[1,1,4,4]"}, {}, {"fails: kernel_shape is missing"}},
      {"MaxPool",
       12,
       {"float32[1,1,4]"},
       {{"kernel_shape", Ints{2, 2}}},
       {"fails: the window has 2"}},
      {"MaxPool", 7, {"float32[1,1,4]"}, {{"kernel_shape", Ints{2}}}, {"fails: output count", ""}},
  });
}

TEST(PoolingTest, RoundingUpLeavesOutWindowsThatStartInThePadding) {
  CheckAll({
      {"AveragePool",
       10,
       {"float32[1,1,4,4]"},
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}},
       {"float32[1,1,2,2]"}},
      {"MaxPool",
       12,
       {"float32[1,1,2,2]"},
       {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}},
       {"float32[1,1,1,1]"}},
  });
}

TEST(PoolingTest, TakesOneValueOfEachChannel) {
  CheckAll({
      {"GlobalAveragePool", 1, {"float32[n,c,7,7]"}, {}, {"float32[n,c,1,1]"}},
      {"GlobalMaxPool", 22, {"float16[n,c,7]"}, {}, {"float16[n,c,1]"}},
      {"GlobalLpPool", 2, {"float32[...]"}, {}, {"float32[...]"}},
      {"GlobalLpPool", 2, {"float32[3]"}, {}, {"fails: at least 2 dimensions"}},
  });
}

TEST(PoolingTest, UndoesAPool) {
  const Ints two{2, 2};
  CheckAll({
      {"MaxUnpool",
       9,
       {"float32[1,1,h,2]", "int64[1,1,h,2]"},
       {{"kernel_shape", two}, {"strides", two}},
       {"float32[1,1,2*h,4]"}},
      {"MaxUnpool",
       11,
       {"float32[1,1,2,2]", "int64[1,1,2,2]", "int64[4]{1,1,5,5}"},
       {{"kernel_shape", two}, {"strides", two}},
       {"float32[1,1,5,5]"}},
      {"MaxUnpool",
       11,
       {"float32[1,1,2,2]", "int64[1,1,2,2]", "int64[4]"},
       {{"kernel_shape", two}},
       {"float32[?,?,?,?]"}},
      {"MaxUnpool",
       11,
       {"float32[1,1,2,2]", "int64[1,1,2,2]", "int64[1]{5}"},
       {{"kernel_shape", two}},
       {"fails: output_shape has 1"}},
  });
  MemoryAttributes attributes;
  FindOperator("", "MaxUnpool", 11)->facts.memory(Node(), attributes);
  EXPECT_EQ(attributes.needs_clearing, std::vector<int>{0});
}

TEST(PoolingTest, ReadsRegions) {
  CheckAll({
      {"RoiAlign",
       10,
       {"float32[1,c,10,10]", "float32[r,4]", "int64[3]"},
       {{"output_height", int64_t{5}}, {"output_width", int64_t{6}}},
       {"float32[3,c,5,6]"}},
      {"RoiAlign",
       16,
       {"float32[1,c,10,10]", "float32[2,4]", "int64[3]"},
       {},
       {"fails: batch indices"}},
      {"MaxRoiPool",
       1,
       {"float32[1,c,10,10]", "float32[r,5]"},
       {{"pooled_shape", Ints{7, 7}}},
       {"float32[r,c,7,7]"}},
      {"MaxRoiPool",
       1,
       {"float32[1,c,10,10]", "float32[r,5]"},
       {{"pooled_shape", Ints{0, 7}}},
       {"fails: 0 by 7"}},
  });
}

}  // namespace pooling_test
}  // namespace plimsoll::graph::operators
