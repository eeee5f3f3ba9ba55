#include "cli/reports/bench_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/peer/run_measure.h"
#include "cli/reports/text_table.h"

namespace plimsoll::cli {
namespace bench_report_test {

BenchRow SomeRow(double median, size_t runs) {
  BenchRow row;
  row.measured.model = "folder/m,1.onnx";
  row.measured.threads = 2;
  row.measured.callers = 3;
  row.ours.latency_ms.assign(runs, median);
  row.ours.round_medians = {median * 0.99, median, median, median * 1.01};
  row.ours.seconds = 2;
  row.ours.resident = MiB(3);
  return row;
}

TEST(BenchReportTest, PercentilesAreToldFromEnoughRuns) {
  EXPECT_TRUE(EnoughFor(0.9, 10) && EnoughFor(0.99, 100));
  EXPECT_FALSE(EnoughFor(0.9, 9) || EnoughFor(0.99, 99));
  const Json few = BenchJson({.rows = {SomeRow(4, 9)}, .comparison = {}});
  EXPECT_TRUE(few["models"][0]["latency_ms"]["p90"].is_null());
  const Json many = BenchJson({.rows = {SomeRow(4, 100)}, .comparison = {}});
  EXPECT_EQ(many["models"][0]["latency_ms"]["p99"], 4.0);
  EXPECT_EQ(many["models"][0]["runs_per_second"], 50.0);
  EXPECT_EQ(BenchText({.rows = {SomeRow(4, 9)}, .comparison = {}}).find("p90"), std::string::npos);
}

TEST(BenchReportTest, MemoryIsComparedWhereBothProcessesHaveGrown) {
  BenchRow row = SomeRow(4, 9);
  row.peer.emplace();
  row.peer->side = row.ours;
  row.peer->side.resident = MiB(6);
  EXPECT_DOUBLE_EQ(BenchJson({.rows = {row}, .comparison = {}})["memory_geomean"], 0.5);
  row.peer->side.resident = Bytes(0);
  EXPECT_FALSE(BenchJson({.rows = {row}, .comparison = {}}).contains("memory_geomean"));
}

TEST(BenchReportTest, TheTableForProgramsQuotesNames) {
  const std::string csv = BenchCsv({.rows = {SomeRow(4, 9)}, .comparison = {}});
  EXPECT_NE(csv.find("\n\"folder/m,1.onnx\",2,3,9,0,4,4,,,4.5,"), std::string::npos) << csv;
}

TEST(BenchReportTest, ADifferenceCountsBeyondTheNoise) {
  const std::string before = BenchJson({.rows = {SomeRow(4, 9)}, .comparison = {}}).dump();
  struct Case {
    double now;
    bool slower;
    bool faster;
  };
  for (const Case& one : {Case{4.1, false, false}, Case{4.5, true, false}, Case{3.5, false, true},
                          Case{3.95, false, false}}) {
    const auto compared = CompareWithBaseline({SomeRow(one.now, 9)}, before, "f");
    ASSERT_TRUE(compared.ok()) << compared.error().Text();
    ASSERT_EQ(compared->changes.size(), 1U);
    EXPECT_EQ(compared->changes[0].slower(), one.slower) << one.now;
    EXPECT_EQ(compared->changes[0].faster(), one.faster) << one.now;
    EXPECT_EQ(compared->changes[0].name, "m,1.onnx, 2 threads, 3 callers");
  }
  BenchRow other = SomeRow(4, 9);
  other.measured.threads = 1;
  const auto missing = CompareWithBaseline({other}, before, "f");
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(missing->missing, std::vector<std::string>{"m,1.onnx, 1 thread, 3 callers"});
}

TEST(BenchReportTest, WhatIsNoMeasurementIsRefused) {
  for (const char* text : {"", "{", "[]", "{\"version\": \"1\"}", "{\"version\": 3, \"models\": 1}",
                           "{\"version\": \"1\", \"models\": [{}]}"}) {
    const auto compared = CompareWithBaseline({}, text, "f");
    ASSERT_FALSE(compared.ok()) << text;
    EXPECT_EQ(compared.error().code, "bench.baseline");
  }
}

TEST(BenchReportTest, FiguresAreRoundedForPeople) {
  EXPECT_EQ(Rounded(0), "0");
  EXPECT_EQ(Rounded(12345.6), "12346");
  EXPECT_EQ(Rounded(123.456), "123");
  EXPECT_EQ(Rounded(12.3456), "12.3");
  EXPECT_EQ(Rounded(1.23456), "1.23");
  EXPECT_EQ(Rounded(0.0123456), "0.0123");
  EXPECT_EQ(Rounded(1.5e-7), "1.50e-07");
  EXPECT_EQ(Rounded(-2.345), "-2.35");
  EXPECT_EQ(Counted(1, "model"), "1 model");
  EXPECT_EQ(Counted(2, "model"), "2 models");
}

TEST(BenchReportTest, LinesAreBrokenBetweenWords) {
  EXPECT_EQ(Wrapped("ab  ", "one two three", 11), "ab  one two\n    three\n");
  EXPECT_EQ(Wrapped("ab  ", "one", 3), "ab  one\n");
  EXPECT_EQ(Wrapped("ab  ", "averylongword x", 8), "ab  averylongword\n    x\n");
}

}  // namespace bench_report_test
}  // namespace plimsoll::cli
