#include "profile/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "plimsoll/base/text.h"

namespace plimsoll::profile::csv_reader_test {

using testing::HasSubstr;

constexpr const char* kHeading =
    "Device_id,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),"
    "Allocation Total Reserved(KB),Release Total Allocated(KB),Release Total Reserved(KB),Device\n";

struct Answer {
  Result<OperatorMemoryReading> reading;
  std::vector<OperatorMemoryRow> rows;
};

Answer Read(const std::string& text) {
  std::istringstream in(text);
  std::vector<OperatorMemoryRow> rows;
  auto reading = ReadOperatorMemory(
      in, "f.csv", [&](OperatorMemoryRow&& row) { rows.push_back(std::move(row)); });
  return {std::move(reading), std::move(rows)};
}

TEST(CsvReaderTest, CellsAreReadAsTheSeedHasThem) {
  const auto [reading, rows] = Read(StrCat(kHeading,
                                           "0,conv,512.500,10.250,5.125,600,1024,87.5,1024,CPU:0\n"
                                           "0,,-4.000,,,,,83.5,1024,CPU:0\n"
                                           "1,\"a,\"\"b\"\"\nc\",1,20,,601,1024,,,GPU:1\n"));
  ASSERT_TRUE(reading.ok()) << reading.error().Text();
  EXPECT_EQ(reading->rows, 3);
  EXPECT_FALSE(reading->truncated);
  EXPECT_EQ(rows[0].size, Bytes(512 * 1024 + 512));
  EXPECT_EQ(rows[0].allocation_us, 10.25);
  EXPECT_EQ(rows[0].duration_us, 5.125);
  EXPECT_EQ(rows[0].release_allocated, Bytes(87 * 1024 + 512));
  EXPECT_EQ(rows[0].device, "CPU:0");
  EXPECT_EQ(rows[1].size, Bytes(-4096));
  EXPECT_FALSE(rows[1].allocation_us || rows[1].duration_us || rows[1].allocation_allocated ||
               rows[1].allocation_reserved);
  EXPECT_EQ(rows[2].name, "a,\"b\"\nc");
  EXPECT_EQ(rows[2].device_id, 1);
  EXPECT_FALSE(rows[2].duration_us || rows[2].release_allocated || rows[2].release_reserved);
}

TEST(CsvReaderTest, ForeignFilesMayOrderAndAddColumns) {
  const auto [reading, rows] = Read(
      "\xEF\xBB\xBFName,Stream,Allocation Time(us),Size(KB)\r\n"
      "matmul,7,3,2\r\n"
      "\r\n"
      "add,7,4,1\r\n");
  ASSERT_TRUE(reading.ok()) << reading.error().Text();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "matmul");
  EXPECT_EQ(rows[1].size, Bytes(1024));
  EXPECT_TRUE(IsOperatorMemoryHeading("Name,x,Size(KB),Allocation Time(us)\n"));
  EXPECT_FALSE(IsOperatorMemoryHeading("Name,Size\n"));
}

TEST(CsvReaderTest, RowsThatMakeNoSenseAreCountedAndLeftOut) {
  const auto [reading, rows] = Read(StrCat(kHeading,
                                           "0,a,x,1,1,1,1,1,1,CPU:0\n"
                                           "0,b,1,1,-1,1,1,1,1,CPU:0\n"
                                           "0,c,,1,1,1,1,1,1,CPU:0\n"
                                           "0,d,1\n"
                                           "0,e,1e300,1,1,1,1,1,1,CPU:0\n"
                                           "0,f,nan,1,1,1,1,1,1,CPU:0\n"
                                           "0,g,1,1,1,1,1,1,1,CPU:0\n"));
  ASSERT_TRUE(reading.ok()) << reading.error().Text();
  EXPECT_EQ(reading->bad_rows, 6);
  EXPECT_EQ(reading->first_bad, "line 2: Size(KB) 'x' is no number, or too large");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "g");
}

TEST(CsvReaderTest, AFileThatEndsInsideARowGivesWhatComesBefore) {
  for (const char* end : {"0,b,1,1,1,1", "0,\"b", "0,\"b,1,1,1,1,1,1,1,CPU:0\n"}) {
    const auto [reading, rows] = Read(StrCat(kHeading, "0,a,1,1,1,1,1,1,1,CPU:0\n", end));
    ASSERT_TRUE(reading.ok()) << reading.error().Text();
    EXPECT_TRUE(reading->truncated) << end;
    EXPECT_EQ(rows.size(), 1u);
  }
  const auto [reading, rows] = Read(StrCat(kHeading, "0,a,1,1,1,1,1,1,1,CPU:0"));
  EXPECT_FALSE(reading->truncated);  // only the line end is missing
  EXPECT_EQ(rows.size(), 1u);
}

TEST(CsvReaderTest, OtherFilesAreRefused) {
  struct Case {
    std::string text;
    const char* code;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"", "csv.heading", "empty"},
      {"\n\n", "csv.heading", "empty"},
      {"id,lower,upper,size\n1,2,3,4\n", "csv.heading",
       "'Name', 'Size(KB)', 'Allocation Time(us)'"},
      {std::string(1 << 20, 'x'), "csv.heading", "no column"},
      {kHeading, "csv.rows", "no rows"},
      {StrCat(kHeading, "0,a,b,1,1,1,1,1,1,C\n"), "csv.rows", "none of its 1 rows"},
  };
  for (const Case& row : cases) {
    const auto [reading, rows] = Read(row.text);
    ASSERT_FALSE(reading.ok());
    EXPECT_EQ(reading.error().code, row.code);
    EXPECT_EQ(reading.error().kind, ErrorKind::kBadFile);
    EXPECT_THAT(reading.error().why, HasSubstr(row.says));
  }
}

TEST(CsvReaderTest, LongCellsAndRowsTakeBoundedMemory) {
  std::string commas(1 << 20, ',');
  const auto [reading, rows] = Read(
      StrCat(kHeading, "0,", std::string(1 << 20, 'n'), ",1,1,1,1,1,1,1,CPU:0\n", commas, "\n"));
  ASSERT_TRUE(reading.ok()) << reading.error().Text();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_LE(rows[0].name.size(), size_t{1} << 14);
  EXPECT_EQ(reading->bad_rows, 1);
}

}  // namespace plimsoll::profile::csv_reader_test
