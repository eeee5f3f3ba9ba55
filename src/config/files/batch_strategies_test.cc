#include "config/files/batch_strategies.h"

#include <gtest/gtest.h>

#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace batch_strategies_test {

TEST(BatchStrategiesTest, R43_EveryBatchHasAStrategyOfItsOwn) {
  const auto read = ParseBatchStrategies(
      "b0:useRange=1,ascendingSort=1;b1:search;batch=4,rows=128:block;b:2:memoryPriorityMode=0");
  ASSERT_TRUE(read.ok()) << read.error().Text();
  EXPECT_EQ(read->size(), 4U);
  EXPECT_EQ(read->at("b0"), (BlockReuse{true, true, {}, {}}));
  EXPECT_EQ(read->at("b1"), std::nullopt);
  EXPECT_EQ(read->at("batch=4,rows=128"), BlockReuse()) << "a gear's label";
  EXPECT_EQ(read->at("b:2"), (BlockReuse{{}, {}, {}, false})) << "the last colon";
}

TEST(BatchStrategiesTest, WhatIsWrittenReadsTheSame) {
  const std::string text = "b0:useRange=1,reuseFirstRelease=0;b1:search;b2:block";
  EXPECT_EQ(Text(*ParseBatchStrategies(text)), text);
}

TEST(BatchStrategiesTest, MistakesAreNamedWithTheirBatch) {
  const auto why = [](std::string_view text) { return ParseBatchStrategies(text).error().why; };
  EXPECT_EQ(why(""), "batch 1: it has no colon behind its label");
  EXPECT_EQ(why("b0:search;"), "batch 2: it has no colon behind its label");
  EXPECT_EQ(why(":search"), "batch 1: its label is empty");
  EXPECT_EQ(why("b0:search;b0:block"), "batch 2: the label 'b0' comes a second time");
  EXPECT_EQ(why("b0:useRange=2"), "batch 1: useRange is not 0 or 1");
  EXPECT_EQ(why("b0:useRange"), "batch 1: useRange is not 0 or 1");
  EXPECT_EQ(why("b0:useRange=1,useRange=1"), "batch 1: useRange comes a second time");
  EXPECT_EQ(why("b0:usRange=1"),
            "batch 1: 'usRange' is neither search nor block nor a knob, did you mean useRange?");
  EXPECT_EQ(why("b0:"), "batch 1: '' is neither search nor block nor a knob");
  EXPECT_EQ(why("b0: search"), "batch 1: ' search' is neither search nor block nor a knob");
}

TEST(BatchStrategiesTest, TheOptionRefusesThemInOneLine) {
  const auto refused = ResolveTexts({"ge.plimsoll.batchStrategies=b0:quick"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().Text(),
            "option refused: ge.plimsoll.batchStrategies (--set): 'b0:quick', batch 1: 'quick' is "
            "neither search nor block nor a knob; legal: LABEL:STRATEGY split by semicolons, as in "
            "b0:useRange=1,ascendingSort=1;b1:search [config.value]");
}

TEST(PlanningOptionsTest, R66_AKnobNeedsAnAssignerThatHasIt) {
  for (const char* knob : {"ge.plimsoll.useRange", "ge.plimsoll.ascendingSort",
                           "ge.plimsoll.reuseFirstRelease", "ge.plimsoll.memoryPriorityMode"}) {
    for (const char* value : {"=0", "=1"}) {
      const std::string set = StrCat(knob, value);
      EXPECT_EQ(Outcome(ResolveTexts({set})), "accepted");
      EXPECT_EQ(Outcome(ResolveTexts({set, "ge.plimsoll.memoryAssigner=block"})), "accepted");
      for (const char* other : {"hybrid", "exact", "dynamic_batch", "greedy_by_size"}) {
        const std::string named = StrCat("ge.plimsoll.memoryAssigner=", other);
        EXPECT_EQ(Outcome(ResolveTexts({set, named})),
                  StrCat("options conflict: ", set, " (--set) and ", named,
                         " (--set): only the assigner block has this knob; use "
                         "ge.plimsoll.memoryAssigner=block, or leave one out [config.conflict]"));
      }
    }
    EXPECT_FALSE(ResolveTexts({StrCat(knob, "=2")}).ok());
    EXPECT_FALSE(ResolveTexts({StrCat(knob, "=true")}).ok());
  }
}

TEST(PlanningOptionsTest, R43_StrategiesNeedAnAssignerThatPlacesBatchesOneByOne) {
  const std::string strategies = "ge.plimsoll.batchStrategies=b0:search";
  for (const char* good : {"block", "dynamic_batch"}) {
    const std::string named = StrCat("ge.plimsoll.memoryAssigner=", good);
    EXPECT_EQ(Outcome(ResolveTexts({strategies, named})), "accepted");
  }
  for (const char* bad : {"hybrid", "exact", "greedy_by_end"}) {
    const std::string named = StrCat("ge.plimsoll.memoryAssigner=", bad);
    const auto refused = ResolveTexts({strategies, named});
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, "config.conflict");
  }
}

TEST(PlanningOptionsTest, BatchesMergeAndShareUnlessToldOtherwise) {
  const auto resolved =
      ResolveTexts({"ge.plimsoll.mergeContinuousBatches=0", "ge.plimsoll.batchesShareMemory=0"});
  ASSERT_TRUE(resolved.ok());
  EXPECT_FALSE(resolved->config.merge_continuous_batches);
  EXPECT_FALSE(resolved->config.batches_share_memory);
}

}  // namespace batch_strategies_test
}  // namespace plimsoll::config
