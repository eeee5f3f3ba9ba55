#include "profile/csv/csv_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "plimsoll/base/text.h"
#include "profile/record/recorder.h"

// Tables cell by cell: what windows show of allocations and releases, and how cells are written.
namespace plimsoll::profile {
namespace csv_files_test {

using Kind = Event::Kind;

constexpr const char* kHeading =
    "Device_id,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),"
    "Allocation Total Reserved(KB),Release Total Allocated(KB),Release Total Reserved(KB),Device";

// Tells a recorder of memory at given moments.
class Story {
 public:
  Story() : recorder_({.clock = [now = now_] { return *now; }}) {}

  Recorder& At(int64_t nanoseconds) {
    *now_ = nanoseconds;
    return recorder_;
  }
  void Reserve(int64_t time, int64_t bytes) { Tell(time, Kind::kReserve, 0, bytes, ""); }
  void Allocate(int64_t time, uint64_t address, int64_t bytes, const char* name) {
    Tell(time, Kind::kAllocate, address, bytes, name);
  }
  void Release(int64_t time, uint64_t address, int64_t bytes) {
    Tell(time, Kind::kRelease, address, bytes, "");
  }
  std::vector<std::string> Rows(int64_t end, const DeviceColumn& column = {}) {
    const std::string text = OperatorMemoryCsv(At(end).Stop(), column);
    std::vector<std::string> rows;
    for (const std::string_view line : Split(text, '\n')) rows.emplace_back(line);
    EXPECT_EQ(rows.back(), "");
    rows.pop_back();
    return rows;
  }

 private:
  void Tell(int64_t time, Kind kind, uint64_t address, int64_t bytes, const char* name) {
    Event event;
    event.kind = kind;
    event.address = address;
    event.bytes = bytes;
    event.name = recorder_.Intern(name);
    At(time).Record(event);
  }

  std::shared_ptr<int64_t> now_ = std::make_shared<int64_t>(0);
  Recorder recorder_;
};

TEST(CsvFilesTest, R84_ColumnsAreThoseOfTheDocumentInItsOrder) {
  Story story;
  story.At(1).Start();
  EXPECT_EQ(story.Rows(2), std::vector<std::string>{kHeading});
}

TEST(CsvFilesTest, R85_R86_R87_R88_R90_OneRowForAnAllocationAndItsRelease) {
  Story story;
  story.At(1).Start();
  story.Reserve(500, 8192);
  story.Allocate(1500, 10, 1536, "conv");
  story.Allocate(2750, 20, 2048, "relu");
  story.Release(4000, 10, 1536);
  story.Release(5001, 20, 2048);
  EXPECT_EQ(
      story.Rows(6000),
      (std::vector<std::string>{kHeading, "0,conv,1.500,1.500,2.500,1.500,8.000,2.000,8.000,CPU:0",
                                "0,relu,2.000,2.750,2.251,3.500,8.000,0.000,8.000,CPU:0"}));
}

TEST(CsvFilesTest, R89_TheDeviceIsItsTypeAndItsNumber) {
  Story story;
  story.At(1).Start();
  story.Allocate(1000, 10, 512, "a");
  EXPECT_EQ(story.Rows(2000, {"NPU"})[1], "0,a,0.500,1.000,,0.500,0.000,,,NPU:0");
}

TEST(CsvFilesTest, R91_R92_R96_WhatWasAllocatedBeforeTheWindowHasItsReleaseAlone) {
  Story story;
  story.Reserve(10, 8192);
  story.Allocate(20, 10, 1024, "conv");
  story.Allocate(30, 20, 512, "held");
  story.At(1000).Start();
  story.Release(2000, 10, 1024);
  EXPECT_EQ(story.Rows(3000),
            (std::vector<std::string>{kHeading, "0,,-1.000,,,,,0.500,8.000,CPU:0"}));
}

TEST(CsvFilesTest, R93_ANameIsNeverGuessedFromAnAddressThatSomebodyHadBefore) {
  Story story;
  story.Allocate(10, 10, 1024, "before");
  story.At(1000).Start();
  story.Release(1500, 10, 1024);
  story.Allocate(2000, 10, 1024, "conv");
  story.Release(3000, 10, 1024);
  const std::vector<std::string> rows = story.Rows(4000);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1], "0,,-1.000,,,,,0.000,0.000,CPU:0");
  EXPECT_EQ(rows[2], "0,conv,1.000,2.000,1.000,1.000,0.000,0.000,0.000,CPU:0");
}

TEST(CsvFilesTest, R93_AnAddressIsNobodysOnceItWasReleased) {
  Story story;
  story.Allocate(5, 10, 1024, "before");
  story.At(1000).Start();
  story.Allocate(2000, 10, 1024, "conv");
  story.Release(3000, 10, 1024);
  story.Release(3500, 10, 1024);  // of the one before
  const std::vector<std::string> rows = story.Rows(4000);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1], "0,conv,1.000,2.000,1.000,2.000,0.000,1.000,0.000,CPU:0");
  EXPECT_EQ(rows[2], "0,,-1.000,,,,,0.000,0.000,CPU:0");
}

TEST(CsvFilesTest, R94_R95_R96_WhatIsHeldAtTheEndHasNoReleaseAndNoDuration) {
  Story story;
  story.At(1).Start();
  story.Reserve(500, 4096);
  story.Allocate(1500, 10, 1024, "conv");
  const std::vector<std::string> rows = story.Rows(2000);
  story.Release(3000, 10, 1024);
  EXPECT_EQ(rows, (std::vector<std::string>{kHeading, "0,conv,1.000,1.500,,1.000,4.000,,,CPU:0"}));
}

TEST(CsvFilesTest, NamesAreQuotedAsCsvAsks) {
  const auto cell = [](std::string_view text) {
    std::string out;
    AppendCsvCell(out, text);
    return out;
  };
  EXPECT_EQ(cell("plain name"), "plain name");
  EXPECT_EQ(cell("a,b"), "\"a,b\"");
  EXPECT_EQ(cell("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(cell("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(cell("é"), "é");
}

TEST(CsvFilesTest, NumbersHaveThreeDecimals) {
  const auto kilobytes = [](int64_t bytes) {
    std::string out;
    AppendKilobytes(out, bytes);
    return out;
  };
  EXPECT_EQ(kilobytes(0), "0.000");
  EXPECT_EQ(kilobytes(512), "0.500");
  EXPECT_EQ(kilobytes(-512), "-0.500");
  EXPECT_EQ(kilobytes(1), "0.001");
  EXPECT_EQ(kilobytes(1023), "0.999");
  EXPECT_EQ(kilobytes(int64_t{1} << 50), "1099511627776.000");
  std::string time;
  AppendMicroseconds(time, 1234567);
  EXPECT_EQ(time, "1234.567");
}

TEST(CsvFilesTest, MemoryRecordHasTheTotalsOfEachComponentAfterEachChange) {
  Recorder recorder({.clock = [] { return int64_t{1000}; }});
  recorder.Start();
  Event event;
  event.kind = Kind::kReserve;
  event.bytes = 4096;
  recorder.Record(event);
  event.kind = Kind::kAllocate;
  event.bytes = 512;
  recorder.Record(event);
  event.component = Component::kWeights;
  event.bytes = 2048;
  recorder.Record(event);
  EXPECT_EQ(MemoryRecordCsv(recorder.Stop()),
            "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n"
            "0,GE,1.000,0.000,4.000,CPU:0\n"
            "0,GE,1.001,0.500,4.000,CPU:0\n"
            "0,WEIGHTS,1.002,2.000,2.000,CPU:0\n");
}

TEST(CsvFilesTest, StaticOpMemHasThePlansBuffersAndTheirTotalLast) {
  Recorder recorder;
  PlanTable plan;
  plan.graph = "graph 3 'm'";
  plan.model = "m";
  plan.graph_id = 3;
  plan.planned = 2048;
  plan.lives = {{.name = recorder.Intern("conv,1"), .begin = 0, .end = 2, .bytes = 1024},
                {.name = recorder.Intern("relu"), .begin = 1, .end = 3, .bytes = 1024}};
  recorder.AddPlan(plan);
  recorder.Start();
  EXPECT_EQ(StaticOpMemCsv(recorder.Stop(), 0),
            "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)\n"
            "0,\"conv,1\",m,3,0,1,1.000\n"
            "0,relu,m,3,1,2,1.000\n"
            "0,TOTAL,m,3,0,2,2.000\n");
}

TEST(CsvFilesTest, AFileThatCannotBeWrittenIsAnErrorWithItsName) {
  const Status written = WriteProfileFile("/proc/no/such/file.csv", "text");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, "profile.write");
  EXPECT_EQ(written.error().where, "/proc/no/such/file.csv");
}

}  // namespace csv_files_test
}  // namespace plimsoll::profile
