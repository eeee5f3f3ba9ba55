#include "config/files/shape_ranges.h"

#include <gtest/gtest.h>

namespace plimsoll::config {
namespace shape_ranges_test {

TEST(ShapeRangesTest, R305_TheDocumentsExampleIsRead) {
  const auto ranges = ParseShapeRanges(
      "getnext:[128 ,3~5, 2~128, -1],[64 ,3~5, 2~128, -1];data:[128 ,3~5, 2~128, -1]");
  ASSERT_TRUE(ranges.ok()) << ranges.error().Text();
  const std::vector<DimRange> tail = {{3, 5}, {2, 128}, {}};
  ASSERT_EQ(ranges->getnext.size(), 2u);
  ASSERT_EQ(ranges->data.size(), 1u);
  EXPECT_EQ(ranges->getnext[0], (std::vector<DimRange>{{128, 128}, tail[0], tail[1], tail[2]}));
  EXPECT_EQ(ranges->getnext[1], (std::vector<DimRange>{{64, 64}, tail[0], tail[1], tail[2]}));
  EXPECT_EQ(ranges->data[0], ranges->getnext[0]);
}

TEST(ShapeRangesTest, WhatIsReadIsWrittenBackWithoutBlanks) {
  struct Case {
    const char* given;
    const char* written;
  };
  for (const Case& c : {Case{"data:[]", "data:[]"}, Case{"data:[ ]", "data:[]"},
                        Case{"data:[],[3~3]", "data:[],[3]"}, Case{"data:[0]", "data:[0]"},
                        Case{"data:[ 3 ~ 5 , -1 ]", "data:[3~5,-1]"},
                        Case{"data:[1];getnext:[2]", "getnext:[2];data:[1]"},
                        Case{"data:[9223372036854775807]", "data:[9223372036854775807]"}}) {
    const auto ranges = ParseShapeRanges(c.given);
    ASSERT_TRUE(ranges.ok()) << c.given << ": " << ranges.error().Text();
    EXPECT_EQ(Text(*ranges), c.written);
    EXPECT_EQ(*ParseShapeRanges(c.written), *ranges);
  }
}

TEST(ShapeRangesTest, R305_R306_R308_WhatIsWrongIsToldWithItsCharacter) {
  struct Case {
    const char* given;
    const char* why;
  };
  constexpr const char* kSize = "a size, a range such as 3~5, or -1 belongs here";
  for (const Case& c : {
           Case{"", "character 1: getnext: or data: belongs here"},
           Case{"[1,2]", "character 1: getnext: or data: belongs here"},
           Case{"input:[1]", "character 1: getnext: or data: belongs here"},
           Case{"Data:[1]", "character 1: getnext: or data: belongs here"},
           Case{"data:", "character 6: a shape in brackets belongs here"},
           Case{"data:1,2", "character 6: a shape in brackets belongs here"},
           Case{"data: []", "character 6: no blank may stand before ["},
           Case{"data:[1], [2]", "character 10: no blank may stand before ["},
           Case{"data:[1],", "character 10: a shape in brackets belongs here"},
           Case{"data:[1];", "character 10: getnext: or data: belongs here"},
           Case{"data:[1];data:[2]", "character 10: data: comes a second time"},
           Case{"data:[1]x", "character 9: only , or ; may follow a shape"},
           Case{"data:[1] ", "character 9: only , or ; may follow a shape"},
           Case{"data:[1", "character 8: only , or ] may follow a dimension"},
           Case{"data:[1 2]", "character 9: only , or ] may follow a dimension"},
           Case{"data:[[1]]", "character 7: a size, a range such as 3~5, or -1 belongs here"},
           Case{"data:[5~3]", "character 7: the range 5~3 is empty"},
           Case{"data:[99999999999999999999]",
                "character 7: the size is beyond 9223372036854775807"},
       }) {
    const auto ranges = ParseShapeRanges(c.given);
    ASSERT_FALSE(ranges.ok()) << c.given;
    EXPECT_EQ(ranges.error().why, c.why) << c.given;
  }
  for (const char* given :
       {"data:[,]", "data:[1,]", "data:[-2]", "data:[-10]", "data:[3~]", "data:[~3]", "data:[3~-1]",
        "data:[1.5]", "data:[a]", "data:[+1]", "data:[0x10]"}) {
    const auto ranges = ParseShapeRanges(given);
    ASSERT_FALSE(ranges.ok()) << given;
    EXPECT_TRUE(ranges.error().why.ends_with(kSize) ||
                ranges.error().why.ends_with("only , or ] may follow a dimension"))
        << given << ": " << ranges.error().why;
  }
}

TEST(ShapeRangesTest, LongTextsAreReadInOneGo) {
  std::string text = "data:[";
  for (int i = 0; i < 200000; ++i) text += "3~5,";
  EXPECT_FALSE(ParseShapeRanges(text).ok());
  text.back() = ']';
  const auto ranges = ParseShapeRanges(text);
  ASSERT_TRUE(ranges.ok());
  EXPECT_EQ(ranges->data[0].size(), 200000u);
  EXPECT_FALSE(ParseShapeRanges(std::string(1 << 20, '[')).ok());
  EXPECT_FALSE(ParseShapeRanges("data:" + std::string(1 << 20, '[')).ok());
}

}  // namespace shape_ranges_test
}  // namespace plimsoll::config
