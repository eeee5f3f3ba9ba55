#include <gtest/gtest.h>

#include "graph/operator_row.h"
#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace convolution_test {

TEST(ConvolutionTest, SlidesOverNumbersAndSymbols) {
  CheckAll({
      {"Conv",
       1,
       {"float32[1,3,224,224]", "float32[64,3,7,7]"},
       {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}},
       {"float32[1,64,112,112]"}},
      {"Conv",
       22,
       {"float16[n,8,h,w]", "float16[16,4,3,3]", "float16[16]"},
       {{"group", int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}},
       {"float16[n,16,h,w]"}},
      {"Conv",
       11,
       {"float32[1,3,h,9]", "float32[8,3,3,3]"},
       {{"auto_pad", "SAME_UPPER"}, {"strides", Ints{1, 2}}},
       {"float32[1,8,h,5]"}},
      {"Conv",
       11,
       {"float32[1,1,10]", "float32[1,1,3]"},
       {{"auto_pad", "VALID"}, {"dilations", Ints{2}}, {"pads", Ints{9, 9}}},
       {"float32[1,1,6]"}},
      {"Conv", 11, {"float32[...]", "float32[8,3,3,3]"}, {}, {"float32[...]"}},
      {"ConvInteger", 10, {"uint8[1,1,3,3]", "uint8[1,1,2,2]", "uint8[]"}, {}, {"int32[1,1,2,2]"}},
      {"QLinearConv",
       10,
       {"uint8[1,1,7,7]", "float32[]", "uint8[]", "int8[1,1,1,1]", "float32[]", "int8[]",
        "float32[]", "int8[]"},
       {},
       {"int8[1,1,7,7]"}},
      {"DeformConv",
       19,
       {"float32[1,1,3,3]", "float32[1,1,2,2]", "float32[1,8,4,4]"},
       {{"pads", Ints{1, 1, 1, 1}}},
       {"float32[1,1,4,4]"}},
  });
}

TEST(ConvolutionTest, TransposedGrowsItsInput) {
  CheckAll({
      {"ConvTranspose",
       1,
       {"float32[n,4,h,3]", "float32[4,2,2,2]"},
       {{"strides", Ints{2, 2}}},
       {"float32[n,2,2*h,6]"}},
      {"ConvTranspose",
       11,
       {"float32[1,4,3,3]", "float32[4,2,3,3]"},
       {{"strides", Ints{3, 2}}, {"output_padding", Ints{1, 1}}, {"group", int64_t{2}}},
       {"float32[1,4,10,8]"}},
      {"ConvTranspose",
       22,
       {"float32[1,4,3,3]", "float32[4,2,3,3]"},
       {{"strides", Ints{3, 2}}, {"output_shape", Ints{10, 8}}},
       {"float32[1,2,10,8]"}},
      {"ConvTranspose",
       22,
       {"float32[1,4,3,3]", "float32[4,2,3,3]"},
       {{"strides", Ints{2, 2}}, {"auto_pad", "SAME_LOWER"}},
       {"float32[1,2,6,6]"}},
      {"ConvTranspose",
       22,
       {"float32[1,4,1,1]", "float32[4,2,1,1]"},
       {{"pads", Ints{2, 2, 2, 2}}},
       {"fails: would have size -3"}},
  });
}

TEST(ConvolutionTest, KeepsStateBetweenCalls) {
  CheckAll({
      {"CausalConvWithState",
       27,
       {"float32[b,8,t]", "float32[8,1,4]"},
       {},
       {"float32[b,8,t]", "float32[b,8,3]"}},
      {"CausalConvWithState",
       27,
       {"float32[...]", "float32[8,1,4]", "", "float32[2,8,3]"},
       {},
       {"float32[...]", "float32[2,8,3]"}},
      {"CausalConvWithState",
       27,
       {"float32[2,8,9]", "float32[8,1,4]", "", "float32[2,8,5]"},
       {},
       {"fails: 5 and 3", ""}},
  });
}

TEST(ConvolutionTest, AddsBlocksUpToAnImage) {
  CheckAll({
      {"Col2Im",
       18,
       {"float32[n,50,9]", "int64[2]{5,w}", "int64[2]{1,5}"},
       {},
       {"float32[n,10,5,w]"}},
      {"Col2Im", 18, {"float32[1,5,5]", "int64[3]", "int64[3]{1,5,1}"}, {}, {"float32[1,1,?,?,?]"}},
      {"Col2Im",
       18,
       {"float32[1,5,5]", "int64[2]{5,5}", "int64[2]{2,2}"},
       {},
       {"fails: no multiple"}},
  });
  MemoryAttributes attributes;
  FindOperator("", "Col2Im", 18)->facts.memory(Node(), attributes);
  EXPECT_EQ(attributes.needs_clearing, std::vector<int>{0});
}

TEST(ConvolutionTest, RefusesWhatCannotBe) {
  const std::vector<std::string> inputs{"float32[1,3,8,8]", "float32[4,3,3,3]"};
  CheckAll({
      {"Conv", 11, {"float32[1,3,8,8]", "float32[4,2,3,3]"}, {}, {"fails: channels of data"}},
      {"Conv", 11, {"float32[1,3,8,8]", "float32[4,3,3]"}, {}, {"fails: differ in rank"}},
      {"Conv", 11, {"float32[1,3,8,8]", "float16[4,3,3,3]"}, {}, {"fails: same type"}},
      {"Conv", 11, {"float32[1,3,2,2]", "float32[4,3,9,9]"}, {}, {"fails: does not fit"}},
      {"Conv", 11, inputs, {{"strides", Ints{0, 1}}}, {"fails: strides holds 0"}},
      {"Conv", 11, inputs, {{"pads", Ints{1}}}, {"fails: pads has 1 numbers"}},
      {"Conv", 11, inputs, {{"group", int64_t{-4}}}, {"fails: group is -4"}},
      {"Conv", 11, inputs, {{"kernel_shape", Ints{3, 5}}}, {"fails: kernel_shape"}},
      {"Conv", 11, inputs, {{"dilations", Ints{INT64_MAX, 1}}}, {"fails: dilations holds"}},
      {"Conv", 11, inputs, {{"auto_pad", "SAME"}}, {"fails: auto_pad is 'SAME'"}},
      {"DeformConv",
       19,
       {"float32[1,1,3,3]", "float32[1,1,2,2]", "float32[1,6,2,2]"},
       {},
       {"fails: offsets"}},
  });
}

}  // namespace convolution_test
}  // namespace plimsoll::graph::operators
