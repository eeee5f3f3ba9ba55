#include "profile/csv_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plimsoll/base/text.h"

namespace plimsoll::profile::csv_report_test {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

OperatorMemoryRow Row(std::string name, int64_t size, double begin, std::optional<double> duration,
                      int64_t total = 0) {
  OperatorMemoryRow row;
  row.name = std::move(name);
  row.size = Bytes(size);
  row.allocation_us = begin;
  row.duration_us = duration;
  row.device = "CPU:0";
  if (total > 0) row.allocation_allocated = Bytes(total);
  return row;
}

ReportPlan PlanOf(std::vector<OperatorMemoryRow> rows, size_t most = CsvReport::kMostTensors) {
  CsvReport report(most);
  for (OperatorMemoryRow& row : rows) report.Add(std::move(row));
  auto plans = report.Finish("f.csv", {});
  EXPECT_EQ(plans.size(), 1u);
  return std::move(plans.at(0));
}

// No two tensors that live at one step share bytes.
void ExpectNoOverlap(const ReportPlan& plan) {
  for (const ReportTensor& a : plan.tensors) {
    for (const ReportTensor& b : plan.tensors) {
      if (&a == &b || a.end <= b.begin || b.end <= a.begin) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << a.name << " and " << b.name;
    }
  }
}

TEST(CsvReportTest, RowsBecomeLivesAndAWaterline) {
  const ReportPlan plan = PlanOf(
      {Row("a", 1024, 0, 10), Row("b", 2048, 5, 10), Row("c", 512, 10, {}), Row("d", 1024, 12, 0)});
  ASSERT_EQ(plan.tensors.size(), 4u);
  // a, b, release of a, c, d, release of d, release of b
  ASSERT_EQ(plan.steps.size(), 7u);
  EXPECT_EQ(plan.steps[2].name, "release of a");
  EXPECT_EQ(plan.live[1], Bytes(3072));
  EXPECT_EQ(plan.peak, Bytes(3584));
  EXPECT_EQ(plan.steps[static_cast<size_t>(plan.peak_step())].name, "d");
  EXPECT_EQ(plan.tensors[2].end, 7);  // still held
  EXPECT_EQ(plan.tensors[3].begin, 4);
  EXPECT_EQ(plan.tensors[3].end, 5);
  EXPECT_EQ(plan.end_us, 15);
  EXPECT_TRUE(plan.reserved.empty());
  ExpectNoOverlap(plan);
}

TEST(CsvReportTest, TotalsOfTheFileAreTheWaterline) {
  auto first = Row("a", 1024, 0, 10, 9000);
  first.allocation_reserved = Bytes(10000);
  first.release_allocated = Bytes(7976);
  first.release_reserved = Bytes(12000);
  const ReportPlan plan = PlanOf({first});
  EXPECT_EQ(plan.live, (std::vector<Bytes>{Bytes(9000), Bytes(7976)}));
  EXPECT_EQ(plan.reserved, (std::vector<Bytes>{Bytes(10000), Bytes(12000)}));
  EXPECT_EQ(plan.device, Bytes(12000));
}

TEST(CsvReportTest, TheLargestRowsAndThePeakAreKept) {
  std::vector<OperatorMemoryRow> rows;
  for (int i = 0; i < 100; ++i)
    rows.push_back(Row(StrCat("r", i), 512 * (i + 1), i, 0.5, 1000 + i));
  rows[3].allocation_allocated = Bytes(1'000'000);
  const ReportPlan plan = PlanOf(rows, 10);
  EXPECT_EQ(plan.tensors.size(), 11u);  // the ten largest and the owner of the peak
  EXPECT_EQ(plan.peak, Bytes(1'000'000));
  EXPECT_EQ(plan.steps[static_cast<size_t>(plan.peak_step())].name, "r3");
  EXPECT_THAT(plan.notes, Contains(Pair("left out", HasSubstr("89 smaller allocations"))));
  ExpectNoOverlap(plan);
}

TEST(CsvReportTest, EveryOwnerOfThePeakIsKeptHoweverSmall) {
  std::vector<OperatorMemoryRow> rows;
  for (int i = 0; i < 5; ++i) rows.push_back(Row(StrCat("owner", i), 512, i, 100));
  rows.push_back(Row("before", 512, 5, 1));
  rows.push_back(Row("peak", 512, 6, 1, 900'000));  // "before" has just gone
  for (int i = 0; i < 50; ++i) rows.push_back(Row(StrCat("large", i), 4096, 200 + i, 0.5, 4096));
  const ReportPlan plan = PlanOf(rows, 10);
  std::vector<std::string> names;
  for (const ReportOwner& owner : OwnersAt(plan, plan.peak_step())) names.push_back(owner.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("owner0", "owner1", "owner2", "owner3", "owner4",
                                                   "peak"));
}

TEST(CsvReportTest, MoreLivesThanAreKeptLeaveThePeakKnown) {
  std::vector<OperatorMemoryRow> rows;
  for (int i = 0; i < 100; ++i) rows.push_back(Row(StrCat("r", i), 512, i, {}, 1000 + i));
  const ReportPlan plan = PlanOf(rows, 10);
  EXPECT_EQ(plan.peak, Bytes(1099));
  EXPECT_LE(plan.tensors.size(), 20u);
}

TEST(CsvReportTest, DevicesAreKeptApartAndNotesSayWhatIsMissing) {
  CsvReport report;
  report.Add(Row("a", 1024, 0, 1));
  auto other = Row("b", 1024, 0, 1);
  other.device = "GPU:1";
  report.Add(std::move(other));
  OperatorMemoryRow released = Row("", -2048, 0, {});
  released.allocation_us.reset();
  report.Add(std::move(released));
  OperatorMemoryReading reading;
  reading.truncated = true;
  reading.bad_rows = 2;
  reading.first_bad = "line 9: x";
  const auto plans = report.Finish("f.csv", reading);
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].name, "f.csv CPU:0");
  EXPECT_EQ(plans[1].name, "f.csv GPU:1");
  EXPECT_THAT(plans[0].notes, Contains(Pair("before the window", HasSubstr("1 releases, 2 KiB"))));
  EXPECT_THAT(plans[1].notes, Contains(Pair("file", HasSubstr("ends inside a row"))));
  EXPECT_THAT(plans[1].notes, Contains(Pair("file", HasSubstr("line 9: x"))));
}

TEST(CsvReportTest, BytesServeOthersAfterTheirRelease) {
  const ReportPlan plan = PlanOf(
      {Row("a", 4096, 0, 1), Row("b", 4096, 2, 1), Row("c", 1024, 4, 1), Row("d", 3072, 4, 1)});
  EXPECT_EQ(plan.regions[0].bytes, Bytes(4096));
  ExpectNoOverlap(plan);
}

TEST(CsvReportTest, SizesBeyondAllAddressesAreDrawnSomewhere) {
  std::vector<OperatorMemoryRow> rows;
  for (int i = 0; i < 3000; ++i) rows.push_back(Row("big", int64_t{1} << 52, i, {}));
  const ReportPlan plan = PlanOf(rows);
  EXPECT_EQ(plan.tensors.size(), 3000u);
  EXPECT_GE(plan.regions[0].bytes, Bytes(0));
}

}  // namespace plimsoll::profile::csv_report_test
