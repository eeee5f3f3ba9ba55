#include "cli/reports/operator_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Times by operator, and how near they are to the machine's roofline.
namespace plimsoll::cli {
namespace operator_report_test {

profile::Event Ran(uint32_t node, int64_t nanoseconds) {
  profile::Event event;
  event.kind = profile::Event::Kind::kOperator;
  event.plan = 1;
  event.item = node;
  event.name = node + 1;
  event.bytes = nanoseconds;
  return event;
}

// A product of matrices that computes, and a copy that moves; two runs.
profile::Recording TwoRuns() {
  profile::Recording recording;
  recording.names = {"", "product", "copy", "MatMul", "Identity", "ours"};
  profile::PlanTable plan;
  plan.graph = "graph 0 'm'";
  plan.operators = {
      {.name = 1, .type = 3, .kernel = 5, .read = 1000, .written = 1000, .operations = 40000},
      {.name = 2, .type = 4, .kernel = 5, .read = 4000, .written = 4000}};
  recording.plans = {plan};
  recording.events = {Ran(0, 3000), Ran(1, 1000), Ran(0, 5000), Ran(1, 1000)};
  return recording;
}

constexpr MachineSpeed kMachine{.bytes_per_second = 1e10, .operations_per_second = 2e10};

TEST(OperatorReportTest, TimesAreThoseOfOneRunTheLongestFirst) {
  const std::vector<OperatorTime> times = TimesByOperator(TwoRuns(), kMachine);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].name, "product");
  EXPECT_EQ(times[0].type, "MatMul");
  EXPECT_EQ(times[0].kernel, "ours");
  EXPECT_EQ(times[0].runs, 2);
  EXPECT_DOUBLE_EQ(times[0].milliseconds, 0.004);
  EXPECT_DOUBLE_EQ(times[0].share, 0.8);
  EXPECT_EQ(times[1].name, "copy");
}

TEST(OperatorReportTest, TheRooflineIsTheSlowerOfMovingAndComputing) {
  const std::vector<OperatorTime> times = TimesByOperator(TwoRuns(), kMachine);
  EXPECT_DOUBLE_EQ(times[0].roofline, 0.5);  // 2 us of 4
  EXPECT_DOUBLE_EQ(times[1].roofline, 0.8);  // 0.8 us of 1
  EXPECT_THAT(OperatorTimesText(times, kMachine), ::testing::HasSubstr("50 %"));
}

}  // namespace operator_report_test
}  // namespace plimsoll::cli
