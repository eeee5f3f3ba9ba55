#include "config/files/short_texts.h"

#include <gtest/gtest.h>

#include "plimsoll/base/text.h"

namespace plimsoll::config {
namespace short_texts_test {

TEST(ShortTextsTest, SizesMayBeProducts) {
  EXPECT_EQ(*ParseSizeProduct("26*1024*1024*1024"), 27917287424);
  EXPECT_EQ(*ParseSizeProduct("26 * 1024 *1024"), 27262976);
  EXPECT_EQ(*ParseSizeProduct("4096"), 4096);
  EXPECT_EQ(*ParseSizeProduct("0*5"), 0);
  for (const char* bad : {"", "*", "5*", "-1", "1.5*2", "2**3", "2*x", "0x10", "+1"}) {
    EXPECT_EQ(ParseSizeProduct(bad).error().why, "a factor is no whole number") << bad;
  }
  EXPECT_EQ(ParseSizeProduct("9223372036854775807*2").error().why,
            "the product is beyond 9223372036854775807");
}

TEST(ShortTextsTest, R223_EnginesAndNumbers) {
  EXPECT_EQ(*ParseEngineCounts("DNN_VM_AICPU:10,AIcoreEngine:1", 4),
            (EngineCounts{{"DNN_VM_AICPU", 10}, {"AIcoreEngine", 1}}));
  EXPECT_EQ(*ParseEngineCounts(" AIcoreEngine : 3 ", 4),
            (EngineCounts{{"DNN_VM_AICPU", 1}, {"AIcoreEngine", 3}}));
  EXPECT_EQ(ParseEngineCounts("VectorEngine:1", 4).error().why, "'VectorEngine' is no engine");
  EXPECT_EQ(ParseEngineCounts("", 4).error().why, "'' is no engine");
  EXPECT_EQ(ParseEngineCounts("AIcoreEngine", 4).error().why, "AIcoreEngine has no number from 1");
  EXPECT_EQ(ParseEngineCounts("AIcoreEngine:0", 4).error().why,
            "AIcoreEngine has no number from 1");
  EXPECT_EQ(ParseEngineCounts("AIcoreEngine:1,AIcoreEngine:1", 4).error().why,
            "AIcoreEngine comes a second time");
}

TEST(ShortTextsTest, R224_AnEngineNotNamedHasOneAndTheCountOfCoresIsTheMost) {
  EXPECT_EQ(ParseEngineCounts("DNN_VM_AICPU:2", 4)->at("AIcoreEngine"), 1);
  EXPECT_EQ(ParseEngineCounts("AIcoreEngine:2", 4)->at("DNN_VM_AICPU"), 1);
  EXPECT_TRUE(ParseEngineCounts("AIcoreEngine:4", 4).ok());
  EXPECT_EQ(ParseEngineCounts("AIcoreEngine:5", 4).error().why,
            "AIcoreEngine has 5, and this processor 4 cores");
}

TEST(ShortTextsTest, StepsAndRangesOfThem) {
  const auto steps = ParseSteps("0|5-10");
  ASSERT_TRUE(steps.ok());
  DumpSettings dump;
  EXPECT_TRUE(dump.TakesStep(3)) << "every step where none is named";
  dump.steps = *steps;
  for (const int64_t step : {0, 5, 7, 10}) EXPECT_TRUE(dump.TakesStep(step)) << step;
  for (const int64_t step : {1, 4, 11}) EXPECT_FALSE(dump.TakesStep(step)) << step;
  EXPECT_EQ(Text(*steps), "0|5-10");
  for (const char* bad : {"", "0|", "a", "-1", "1-", "1-2-3"}) {
    EXPECT_FALSE(ParseSteps(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseSteps("5-3").error().why, "the range 5-3 is empty");
}

}  // namespace short_texts_test
}  // namespace plimsoll::config
