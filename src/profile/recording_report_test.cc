#include "profile/recording_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/report_page.h"

namespace plimsoll::profile::recording_report_test {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

Event Memory(Event::Kind kind, int64_t time, uint64_t address, int64_t bytes, NameId name = 0) {
  Event event;
  event.kind = kind;
  event.time = time;
  event.address = address;
  event.bytes = bytes;
  event.name = name;
  return event;
}

Event Operator(int64_t time, NameId name) {
  Event event;
  event.kind = Event::Kind::kOperator;
  event.time = time;
  event.bytes = 500;
  event.name = name;
  return event;
}

// Two operators: the first makes a, the second reads it and makes b in another block of addresses.
Recording TwoOperators() {
  using Kind = Event::Kind;
  Recording recording;
  recording.names = {"", "conv", "relu", "a", "b"};
  recording.events = {Memory(Kind::kReserve, 500, 0, 8192),
                      Memory(Kind::kAllocate, 1000, 1 << 20, 1024, 1),
                      Operator(1001, 1),
                      Memory(Kind::kAllocate, 2000, 1 << 30, 2048, 2),
                      Operator(2001, 2),
                      Memory(Kind::kRelease, 3000, 1 << 20, 1024),
                      Operator(4000, 1)};
  recording.end = 5000;
  return recording;
}

TEST(RecordingReportTest, OperatorsAreStepsAndMemoryLivesWhileTheyRun) {
  const ReportPlan plan = MakeRecordedPlan(TwoOperators(), "run");
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[1].name, "relu");
  EXPECT_EQ(plan.steps[1].start_us, 2.001);
  EXPECT_EQ(plan.end_us, 4.5);
  ASSERT_EQ(plan.tensors.size(), 2u);
  EXPECT_EQ(plan.tensors[0].begin, 0);
  EXPECT_EQ(plan.tensors[0].end, 2);
  EXPECT_EQ(plan.tensors[0].readers, (std::vector<int64_t>{1}));
  EXPECT_EQ(plan.tensors[1].begin, 1);
  EXPECT_EQ(plan.tensors[1].end, 3);  // still held
  EXPECT_EQ(plan.live, (std::vector<Bytes>{Bytes(1024), Bytes(3072), Bytes(2048)}));
  EXPECT_EQ(plan.peak, Bytes(3072));
  EXPECT_EQ(plan.reserved, (std::vector<Bytes>{Bytes(8192), Bytes(8192), Bytes(8192)}));
}

TEST(RecordingReportTest, WhatIsTakenWhileAnOperatorRunsIsItsOwn) {
  Recording recording = TwoOperators();
  recording.events[1].time = 1200;  // "conv" runs from 1001 to 1501
  recording.events.push_back(Memory(Event::Kind::kAllocate, 4900, 1 << 21, 512, 2));
  const ReportPlan plan = MakeRecordedPlan(recording, "run");
  EXPECT_EQ(plan.tensors[0].begin, 0);
  EXPECT_EQ(plan.tensors[2].begin, 2);  // nothing runs since
  EXPECT_EQ(plan.tensors[2].end, 3);
}

TEST(RecordingReportTest, BlocksFarApartAreDrawnOneAboveTheOther) {
  const ReportPlan plan = MakeRecordedPlan(TwoOperators(), "run");
  EXPECT_EQ(plan.tensors[0].offset, Offset(0));
  EXPECT_EQ(plan.tensors[1].offset, Offset(1024));
  EXPECT_EQ(plan.regions[0].bytes, Bytes(3072));
}

TEST(RecordingReportTest, NamesAndTypesComeFromThePlan) {
  Recording recording = TwoOperators();
  PlanTable table;
  table.graph = "graph 1";
  table.planned = 4096;
  table.lower_bound = 2048;
  table.lives.push_back({.value = 3, .type = 4, .shape = 2, .kind = TensorKind::kWorkspace});
  table.operators.push_back({.name = 1, .type = 2, .module = 4});
  recording.plans.push_back(table);
  recording.events[1].plan = recording.events[2].plan = 1;
  recording.events[1].run = 1;
  Event begin;
  begin.kind = Event::Kind::kRunBegin;
  begin.plan = 1;
  recording.events.push_back(begin);
  recording.dropped = 7;
  const ReportPlan plan = MakeRecordedPlan(recording, "run");
  EXPECT_EQ(plan.tensors[0].name, "a");
  EXPECT_EQ(plan.tensors[0].type, "b");
  EXPECT_EQ(plan.tensors[0].shape, "relu");
  EXPECT_EQ(plan.tensors[0].kind, TensorKind::kWorkspace);
  EXPECT_EQ(plan.steps[0].module, "b");
  EXPECT_EQ(plan.lower_bound, Bytes(2048));
  EXPECT_EQ(plan.steps[0].type, "relu");
  EXPECT_THAT(plan.notes, Contains(Pair("graph 1", HasSubstr("4 KiB"))));
  EXPECT_THAT(plan.notes, Contains(Pair("recorder", HasSubstr("7 events"))));
}

TEST(RecordingReportTest, StepsTellWhatTheirOperatorDid) {
  Recording recording = TwoOperators();
  PlanTable table;
  table.operators.push_back(
      {.name = 1, .kernel = 2, .read = 100, .written = 200, .operations = 300});
  recording.plans.push_back(table);
  recording.events[2].plan = 1;
  const ReportPlan plan = MakeRecordedPlan(recording, "run");
  EXPECT_EQ(plan.steps[0].kernel, "relu");
  EXPECT_EQ(plan.steps[0].took_us, 0.5);
  EXPECT_EQ(plan.steps[0].read, Bytes(100));
  EXPECT_EQ(plan.steps[0].written, Bytes(200));
  EXPECT_EQ(plan.steps[0].operations, 300);
  EXPECT_EQ(plan.steps[1].kernel, "") << "nothing is known of it";
}

// A weight of graph "conv" that was there before, and a variable that goes while operators run.
TEST(RecordingReportTest, WeightsAndVariablesHaveRegionsOfTheirOwn) {
  Recording recording = TwoOperators();
  Event weight = Memory(Event::Kind::kAllocate, 0, 1 << 16, 4096, 3);
  weight.component = Component::kWeights;
  weight.item = 1;
  recording.held = {weight};
  Event variable = Memory(Event::Kind::kAllocate, 600, 1 << 17, 512, 4);
  variable.component = Component::kVariables;
  recording.events.insert(recording.events.begin() + 1, variable);
  variable.kind = Event::Kind::kRelease;
  variable.time = 3500;
  recording.events.insert(recording.events.end() - 1, variable);
  const ReportPlan plan = MakeRecordedPlan(recording, "run");
  ASSERT_EQ(plan.regions.size(), 3U);
  EXPECT_EQ(plan.regions[1].name, "weights");
  EXPECT_EQ(plan.regions[1].bytes, Bytes(4096));
  EXPECT_EQ(plan.regions[2].name, "variables");
  ASSERT_EQ(plan.tensors.size(), 4U);
  EXPECT_EQ(plan.tensors[2].name, "a");
  EXPECT_EQ(plan.tensors[2].kind, TensorKind::kWeight);
  EXPECT_EQ(plan.tensors[2].region, 1);
  EXPECT_EQ(plan.tensors[2].end, 3);
  EXPECT_THAT(plan.tensors[2].rule, HasSubstr("brought by conv"));
  EXPECT_EQ(plan.tensors[3].kind, TensorKind::kVariable);
  EXPECT_EQ(plan.tensors[3].end, 2) << "it goes before the third operator";
  EXPECT_EQ(plan.peak, Bytes(3072)) << "the waterline is that of feature maps";
}

TEST(RecordingReportTest, AWindowWithoutOperatorsIsAnEmptyReport) {
  Recording recording;
  recording.names = {""};
  recording.events = {Memory(Event::Kind::kAllocate, 1, 64, 512)};
  const ReportPlan plan = MakeRecordedPlan(recording, "run");
  EXPECT_TRUE(plan.tensors.empty());
  EXPECT_TRUE(ReadReportPage(ReportPage({"t", "m", {plan}}), "f").ok());
}

}  // namespace plimsoll::profile::recording_report_test
