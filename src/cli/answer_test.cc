#include "cli/answer.h"

#include <gtest/gtest.h>

#include "cli/reports/latency_json.h"

// The frame of every answer under --json.
namespace plimsoll::cli {
namespace answer_test {

Error SomeError() {
  return {ErrorKind::kDoesNotFit,
          "plan.limit",
          "the model does not fit",
          "m.onnx",
          "too large",
          "buy more"};
}

TEST(AnswerTest, TheObjectIsWrittenOnceWithWhatWasToldAndTheError) {
  Answer answer("plan", true);
  answer.Give([] { return Json{{"a", 1}}; }, [] { return std::string("never"); });
  answer.Add({{"b", 2}});
  testing::internal::CaptureStdout();
  const Error error = SomeError();
  answer.FinishWith(error, 3);
  const Json told = Json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(told, Json::parse(R"({"schema_version": 1, "command": "plan", "a": 1, "b": 2,
    "error": {"code": "plan.limit", "message": "the model does not fit", "place": "m.onnx",
              "reason": "too large", "remedy": "buy more", "exit_code": 3}})"));
}

TEST(AnswerTest, TextGoesOutAtOnceAndNothingFollows) {
  Answer answer("plan", false);
  testing::internal::CaptureStdout();
  answer.Give([] { return Json{{"a", 1}}; }, [] { return std::string("text\n"); });
  const Error error = SomeError();
  answer.FinishWith(error, 3);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "text\n");
}

TEST(AnswerTest, NamesThatAreNoUtf8DoNotBreakIt) {
  Answer answer("inspect", true);
  answer.Add({{"name", "\xff\xfe"}});
  testing::internal::CaptureStdout();
  answer.Finish();
  EXPECT_FALSE(Json::parse(testing::internal::GetCapturedStdout()).contains("error"));
}

TEST(AnswerTest, APercentileNeedsEnoughRuns) {
  EXPECT_EQ(LatencyJson({}),
            Json::parse(R"({"least": null, "p50": null, "p90": null, "p99": null})"));
  EXPECT_EQ(LatencyJson({3, 1, 2}),
            Json::parse(R"({"least": 1.0, "p50": 2.0, "p90": null, "p99": null})"));
  EXPECT_EQ(LatencyJson(std::vector<double>(10, 4))["p90"], 4);
  EXPECT_TRUE(LatencyJson(std::vector<double>(99, 4))["p99"].is_null());
  EXPECT_EQ(LatencyJson(std::vector<double>(100, 4))["p99"], 4);
}

}  // namespace answer_test
}  // namespace plimsoll::cli
