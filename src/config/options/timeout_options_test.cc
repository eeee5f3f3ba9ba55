#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/options/option_table.h"
#include "config/resolving_for_tests.h"

namespace plimsoll::config {
namespace timeout_options_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

RunConfig Accepted(const std::vector<std::string>& texts, const Variables& variables = {}) {
  const LogCapture quiet([](LogLevel, std::string_view) {});
  const auto resolved = ResolveTexts(texts, variables);
  EXPECT_TRUE(resolved.ok()) << Outcome(resolved);
  return resolved.ok() ? resolved->config : RunConfig();
}

TEST(TimeoutOptionsTest, R213_R226_R227_R274_WhatSpeaksOfSeveralProcessesAnswersOneDevice) {
  for (const char* text : {"hcom_parallel=True", "is_tailing_optimization=True", "local_rank_id=0",
                           "hccl_timeout=600", "distribute=ParameterServerStrategy"}) {
    EXPECT_THAT(NotesOf({text}),
                HasSubstr("has no effect: a session is one process with one device"))
        << text;
  }
  EXPECT_EQ(FindOption("hcom_parallel")->default_value, "");
  EXPECT_THAT(std::string(FindOption("hcom_parallel")->meaning),
              HasSubstr("False is advised for small networks"));
  EXPECT_EQ(FindOption("is_tailing_optimization")->default_value, "False");
  EXPECT_THAT(std::string(FindOption("is_tailing_optimization")->meaning),
              HasSubstr("must equal the optimizer's flag"));
}

TEST(TimeoutOptionsTest, R275_AListOfDevicesWithoutARankIsRefused) {
  Accepted({"local_rank_id=0", "local_device_list=0,1"});
  EXPECT_EQ(Outcome(ResolveTexts({"local_device_list=0,1"})),
            "options conflict: local_device_list=0,1 (--set) and local_rank_id not set: the list "
            "says nothing without the rank of this process; set local_rank_id too, or leave "
            "local_device_list out [config.conflict]");
  for (const char* bad : {"0,0", "a", "-1", "0;1"}) {
    EXPECT_THAT(Outcome(ResolveTexts({"local_rank_id=0", StrCat("local_device_list=", bad)})),
                HasSubstr("legal: whole numbers from 0, split by commas, none twice"));
  }
}

TEST(TimeoutOptionsTest, R276_TheCollectiveTimeoutHasItsRange) {
  EXPECT_EQ(Accepted({}).timeouts.hccl, seconds(1836));
  for (const char* bad : {"0", "-1", "17341"}) {
    EXPECT_EQ(Outcome(ResolveTexts({StrCat("hccl_timeout=", bad)})),
              StrCat("option refused: hccl_timeout (--set): '", bad,
                     "' is not legal; legal: a whole number from 1 to 17340 [config.value]"));
  }
}

TEST(TimeoutOptionsTest, R277_TheCollectiveTimeoutIsRoundedDownToStepsOf68) {
  const std::vector<std::pair<int, int>> cases = {
      {1, 68}, {67, 68}, {68, 68}, {135, 68}, {136, 136}, {600, 544}, {1836, 1836}, {17340, 17340}};
  for (const auto& [given, in_force] : cases) {
    EXPECT_EQ(Accepted({StrCat("hccl_timeout=", given)}).timeouts.hccl, seconds(in_force)) << given;
  }
  EXPECT_EQ(ValueText(ResolveTexts({"hccl_timeout=600"})->of("hccl_timeout")),
            "544, given as 600, without effect");
}

TEST(TimeoutOptionsTest, R102_R278_TheOptionWinsOverTheVariableWhichIsRoundedToo) {
  const Variables variable = {{"HCCL_EXEC_TIMEOUT", "600"}};
  EXPECT_EQ(Accepted({}, variable).timeouts.hccl, seconds(544));
  EXPECT_EQ(Accepted({"hccl_timeout=136"}, variable).timeouts.hccl, seconds(136));
  EXPECT_THAT(Outcome(ResolveTexts({}, {{"HCCL_EXEC_TIMEOUT", "0"}})),
              HasSubstr("HCCL_EXEC_TIMEOUT (environment): '0' is not legal"));
}

TEST(TimeoutOptionsTest, R279_R280_OperatorsHaveTheirTimesInSeconds) {
  EXPECT_EQ(Accepted({}).timeouts.op_wait, seconds(120));
  EXPECT_EQ(Accepted({}).timeouts.op_execute, std::nullopt);
  EXPECT_EQ(Accepted({"op_wait_timeout=60"}).timeouts.op_wait, seconds(60));
  EXPECT_EQ(Accepted({"op_execute_timeout=90"}).timeouts.op_execute, seconds(90));
  for (const char* name : {"op_wait_timeout", "op_execute_timeout"}) {
    EXPECT_THAT(Outcome(ResolveTexts({StrCat(name, "=0")})),
                HasSubstr("legal: a whole number from 1 to 2147483647"));
  }
}

TEST(TimeoutOptionsTest, R282_MinusOneMeansNoLimitAndLessIsRefused) {
  EXPECT_EQ(Accepted({}).timeouts.stream_sync, std::nullopt);
  EXPECT_EQ(Accepted({}).timeouts.event_sync, std::nullopt);
  EXPECT_EQ(Accepted({"stream_sync_timeout=60000"}).timeouts.stream_sync, milliseconds(60000));
  EXPECT_EQ(Accepted({"event_sync_timeout=60000"}).timeouts.event_sync, milliseconds(60000));
  for (const char* name : {"stream_sync_timeout", "event_sync_timeout"}) {
    Accepted({StrCat(name, "=-1")});
    EXPECT_THAT(Outcome(ResolveTexts({StrCat(name, "=-2")})),
                HasSubstr("'-2' is not legal; legal: a whole number from -1"));
  }
}

TEST(TimeoutOptionsTest, R283_InAClusterStreamsWaitLongerThanTheCollectiveTimeout) {
  const auto outcome = [](const std::string& cluster, const std::string& timeout) {
    const LogCapture quiet([](LogLevel, std::string_view) {});
    return Outcome(ResolveTexts({cluster, "stream_sync_timeout=" + timeout}));
  };
  for (const char* cluster : {"distribute=ParameterServerStrategy", "local_rank_id=1"}) {
    EXPECT_EQ(outcome(cluster, "1836000"),
              "options conflict: stream_sync_timeout=1836000 (--set) and hccl_timeout=1836 "
              "(default): among several processes streams must wait longer than the collective "
              "timeout; this one is in milliseconds, that one in seconds; raise "
              "stream_sync_timeout, or use -1 [config.conflict]");
    EXPECT_EQ(outcome(cluster, "1836001"), "accepted");
    EXPECT_EQ(outcome(cluster, "-1"), "accepted");
  }
  EXPECT_EQ(outcome("deterministic=0", "1836000"), "accepted") << "one process";
}

TEST(TimeoutOptionsTest, R284_TheVariableIsTheCollectiveTimeoutWhereOnlyItIsSet) {
  const Variables variable = {{"HCCL_EXEC_TIMEOUT", "600"}};
  const std::string cluster = "local_rank_id=0";
  EXPECT_THAT(Outcome(ResolveTexts({cluster, "stream_sync_timeout=600000"}, variable)),
              HasSubstr("HCCL_EXEC_TIMEOUT=600 (environment)"));
  Accepted({cluster, "stream_sync_timeout=600001"}, variable);
  EXPECT_THAT(
      Outcome(ResolveTexts({cluster, "stream_sync_timeout=600001", "hccl_timeout=700"}, variable)),
      HasSubstr("hccl_timeout=700 (--set)"));
}

}  // namespace timeout_options_test
}  // namespace plimsoll::config
