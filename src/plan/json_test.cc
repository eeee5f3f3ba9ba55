#include "plimsoll/plan/json.h"

#include <gtest/gtest.h>

#include "plan/random_problem_for_tests.h"
#include "plimsoll/plan/hybrid_mem_assigner.h"

namespace plimsoll::plan {
namespace {

TEST(ProblemJsonTest, EveryProblemReadsBackAsItWasWritten) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = RandomProblem(seed).Make();
    const std::string text = WriteProblemJson(problem);
    const auto again = ReadProblemJson(text);
    ASSERT_TRUE(again.ok()) << again.error().Text();
    ASSERT_EQ(WriteProblemJson(*again), text);
    const auto plan = HybridMemAssigner(1).Assign(problem, {.steps = 10});
    const auto plan_again = HybridMemAssigner(1).Assign(*again, {.steps = 10});
    ASSERT_EQ(plan.ok(), plan_again.ok());
    if (!plan.ok()) continue;
    ASSERT_EQ(plan->offsets, plan_again->offsets);
  }
}

TEST(ProblemJsonTest, GroupsSayWhetherTheyMayBeMergedWithThoseOfOtherBatches) {
  Problem problem;
  problem.contiguous = {{.members = {BufferId(0)}},
                        {.members = {BufferId(1)}, .padded = true, .merge_batches = false}};
  const std::string text = WriteProblemJson(problem);
  EXPECT_NE(text.find("{\"members\": [1], \"padded\": true, \"merge_batches\": false}"),
            std::string::npos)
      << text;
  const auto again = ReadProblemJson(text);
  ASSERT_TRUE(again.ok()) << again.error().Text();
  EXPECT_TRUE(again->contiguous[0].merge_batches);
  EXPECT_FALSE(again->contiguous[1].merge_batches);
}

TEST(ProblemJsonTest, NamesMayHoldAnySign) {
  Problem problem;
  problem.AddRegion({.name = "quote \" slash \\ line \n bell \a caf\xc3\xa9"});
  const auto again = ReadProblemJson(WriteProblemJson(problem));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->regions[0].name, problem.regions[0].name);
}

TEST(ProblemJsonTest, APlanIsWrittenWithItsRegionsAndNotes) {
  Problem problem;
  problem.AddRegion({.name = "map"});
  problem.AddBuffer(
      {.size = Bytes(1000), .life = {.begin = 0, .end = 1}, .no_zero_copy_reason = "HCOM"});
  const std::string text = WritePlanJson(*HybridMemAssigner(1).Assign(problem), problem);
  EXPECT_NE(text.find("\"size\": 1024, \"lower_bound\": 1024, \"optimal\": true"),
            std::string::npos);
  EXPECT_NE(text.find("\"kind\": \"no_zero_copy\", \"buffer\": 0, \"text\": \"HCOM\""),
            std::string::npos);
}

struct BadText {
  std::string text;
  const char* where;
  const char* reason;
};

class BadJsonTest : public testing::TestWithParam<BadText> {};

TEST_P(BadJsonTest, IsRefusedWithLineAndReason) {
  const auto problem = ReadProblemJson(GetParam().text);
  ASSERT_FALSE(problem.ok());
  EXPECT_EQ(problem.error().kind, ErrorKind::kBadFile);
  EXPECT_EQ(problem.error().where, GetParam().where);
  EXPECT_NE(problem.error().why.find(GetParam().reason), std::string::npos)
      << problem.error().Text();
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadJsonTest,
    testing::Values(BadText{"", "line 1", "a value is missing"},
                    BadText{"{\n\"regions\": [}", "line 2", "a value is missing"},
                    BadText{"[]", "line 1", "not an object"}, BadText{"{} {}", "line 1", "follows"},
                    BadText{"{\"regions\": [], \"regions\": []}", "line 1", "named twice"},
                    BadText{"{\"regions\": 3}", "line 1", "not an array"},
                    BadText{"{\"colours\": []}", "line 1", "unknown field"},
                    BadText{"{\"regions\": [{\"kind\": \"moon\"}]}", "line 1", "no known kind"},
                    BadText{"{\n\n\"buffers\": [{\"size\": 1.5}]}", "line 3", "no whole number"},
                    BadText{"{\"buffers\": [{\"size\": 99999999999999999999}]}", "line 1",
                            "no whole number"},
                    BadText{"{\"buffers\": [{\"region\": -1}]}", "line 1", "no index"},
                    BadText{"{\"buffers\": [{\"name\": \"\\u1234\"}]}", "line 1", "escape"},
                    BadText{"{\"buffers\": [{\"name\": \"x", "line 1", "does not end"},
                    BadText{std::string(100'000, '['), "line 1", "nested deeper"}));

}  // namespace
}  // namespace plimsoll::plan
