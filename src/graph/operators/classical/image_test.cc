#include <gtest/gtest.h>

#include "graph/operators/operator_case.h"

namespace plimsoll::graph::operators {
namespace image_test {

TEST(ResizeTest, ScalesAndSizesMovedBetweenVersions) {
  CheckAll({
      {"Upsample",
       7,
       {"float32[1,c,h,3]"},
       {{"scales", Floats{1, 1, 2, 3}}},
       {"float32[1,c,2*h,9]"}},
      {"Upsample", 9, {"float32[1,c,4,5]", "float32[4]{1,1,0.5,0.6}"}, {}, {"float32[1,c,2,3]"}},
      {"Resize", 10, {"float32[1,1,4,h]", "float32[4]{1,1,1.5,0.5}"}, {}, {"float32[1,1,6,h//2]"}},
      {"Resize",
       11,
       {"float32[n,c,h,w]", "float32[0]", "float32[0]", "int64[4]{n,c,2*h,7}"},
       {},
       {"float32[n,c,2*h,7]"}},
      {"Resize", 13, {"float32[n,c,4,4]", "", "float32[4]{1,1,2,2}"}, {}, {"float32[n,c,8,8]"}},
      {"Resize",
       18,
       {"float32[n,c,4,4]", "", "float32[2]{2,3}"},
       {{"axes", Ints{-1, 2}}},
       {"float32[n,c,12,8]"}},
      {"Resize", 13, {"float32[1,h]", "", "float32[2]{1,0.3}"}, {}, {"float32[1,?]"}},
      {"Resize", 13, {"float32[1,1]", "", "float32[2]"}, {}, {"float32[?,?]"}},
  });
}

TEST(ResizeTest, KeepsTheAspectRatioAndCrops) {
  const std::vector<std::string> inputs{"float32[1,1,2,4]", "", "", "int64[2]{7,8}"};
  CheckAll({
      {"Resize",
       18,
       inputs,
       {{"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", "not_larger"}},
       {"float32[1,1,4,8]"}},
      {"Resize",
       19,
       inputs,
       {{"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", "not_smaller"}},
       {"float32[1,1,7,14]"}},
      {"Resize",
       19,
       {"float32[4,4]", "float32[4]{0,0.25,1,0.75}", "float32[2]{1,2}"},
       {{"coordinate_transformation_mode", "tf_crop_and_resize"}},
       {"float32[4,4]"}},
  });
}

TEST(ResizeTest, RefusesWhatCannotBe) {
  CheckAll({
      {"Resize", 13, {"float32[1,1]"}, {}, {"fails: neither scales nor sizes"}},
      {"Resize", 13, {"float32[1,1]", "", "float32[3]{1,1,1}"}, {}, {"fails: 3 scales for 2"}},
      {"Resize", 13, {"float32[1,1]", "", "float32[2]{0,1}"}, {}, {"fails: a scale is 0"}},
      {"Resize",
       18,
       {"float32[1,1]", "", "float32[2]{1,1}"},
       {{"axes", Ints{0, 0}}},
       {"fails: repeated"}},
      {"Resize", 13, {"float32[1,1]", "", "", "int64[2]{1,-5}"}, {}, {"fails: a size is -5"}},
  });
}

TEST(ImageTest, ReadsAtAGrid) {
  CheckAll({
      {"GridSample", 16, {"float32[n,c,5,5]", "float32[2,h,w,2]"}, {}, {"float32[2,c,h,w]"}},
      {"GridSample", 20, {"float32[n,c,5,5,5]", "float32[n,d,h,w,3]"}, {}, {"float32[n,c,d,h,w]"}},
      {"GridSample", 16, {"float32[n,c,5,5]", "float32[n,h,w,3]"}, {}, {"fails: coordinates"}},
      {"GridSample", 16, {"float32[1,c,5,5]", "float32[3,h,w,2]"}, {}, {"float32[3,c,h,w]"}},
      {"GridSample", 16, {"float32[2,c,5,5]", "float32[3,h,w,2]"}, {}, {"fails: batches"}},
      {"AffineGrid", 20, {"float32[n,2,3]", "int64[4]{2,3,h,6}"}, {}, {"float32[2,h,6,2]"}},
      {"AffineGrid", 20, {"float32[n,3,4]", "int64[5]"}, {}, {"float32[n,?,?,?,3]"}},
      {"AffineGrid", 20, {"float32[n,2,3]", "int64[3]{2,3,5}"}, {}, {"fails: 4 or 5 elements"}},
  });
}

TEST(ImageTest, OnlyTheFileTellsTheSizeOfADecodedImage) {
  CheckAll({
      {"ImageDecoder", 20, {"uint8[n]"}, {}, {"uint8[?,?,3]"}},
      {"ImageDecoder",
       20,
       {"uint8[n]"},
       {{"pixel_format", std::string("Grayscale")}},
       {"uint8[?,?,1]"}},
      {"ImageDecoder", 20, {"uint8[2,n]"}, {}, {"fails: input 0 must have 1 dimensions"}},
  });
}

}  // namespace image_test
}  // namespace plimsoll::graph::operators
