#include "cli/reports/memory_table.h"

#include <gtest/gtest.h>

// Where memory is: the rows add up, whoever fills them in.
namespace plimsoll::cli {
namespace memory_table_test {

engine::SessionMemory SomeMemory() {
  engine::SessionMemory memory;
  memory.host = Bytes(7);
  memory.device = {.weights = Bytes(1000),
                   .feature_maps = Bytes(200),
                   .variables = Bytes(30),
                   .ports = Bytes(5),
                   .granularity = Bytes(4)};
  return memory;
}

TEST(MemoryTableTest, RowsOfThePredictionAddUp) {
  const MemoryTable table = PredictedMemory(SomeMemory(), Bytes(60), Bytes(500));
  EXPECT_EQ(table.device.total(), Bytes(1239));
  EXPECT_EQ(table.resident(), Bytes(1239 + 7 + 60 + 500));
  const Json told = MemoryJson({.predicted = table});
  EXPECT_FALSE(told.contains("measured"));
  EXPECT_EQ(told["predicted"], Json::parse(R"({
    "weights_bytes": 1000, "feature_map_bytes": 200, "variables_bytes": 30, "ports_bytes": 5,
    "granularity_bytes": 4, "device_bytes": 1239, "caller_bytes": 60, "host_bytes": 7,
    "program_bytes": 500, "untouched_bytes": 0, "resident_bytes": 1806})"));
}

TEST(MemoryTableTest, WhatIsResidentBeyondTheSessionIsThePrograms) {
  const MemoryTable table = MeasuredMemory(SomeMemory(), Bytes(60), Bytes(500), Bytes(2000));
  EXPECT_EQ(table.program, Bytes(2000 - 1239 - 7 - 60));
  EXPECT_EQ(table.untouched, Bytes(0));
  EXPECT_EQ(table.resident(), Bytes(2000));
}

TEST(MemoryTableTest, PagesThatNobodyTouchedAreTold) {
  const MemoryTable table = MeasuredMemory(SomeMemory(), Bytes(60), Bytes(500), Bytes(1000));
  EXPECT_EQ(table.program, Bytes(500)) << "at least what was there before";
  EXPECT_EQ(table.untouched, Bytes(1239 + 7 + 60 + 500 - 1000));
  EXPECT_EQ(table.resident(), Bytes(1000));
  EXPECT_NE(MemoryText({.measured = table}, {}).find("never touched            -806 B"),
            std::string::npos)
      << MemoryText({.measured = table}, {});
}

TEST(MemoryTableTest, AProgramThatGaveMemoryBackHasNoUntouchedPagesForIt) {
  const MemoryTable table = MeasuredMemory(SomeMemory(), Bytes(60), Bytes(2100), Bytes(2000));
  EXPECT_EQ(table.program, Bytes(2000 - 1239 - 7 - 60));
  EXPECT_EQ(table.untouched, Bytes(0));
  EXPECT_EQ(table.resident(), Bytes(2000));
}

TEST(MemoryTableTest, TheLimitIsJudgedByTheDevicesTotal) {
  const MemoryTable table = PredictedMemory(SomeMemory(), Bytes(60), Bytes(500));
  EXPECT_NE(MemoryText({.predicted = table}, Bytes(1239)).find("it fits"), std::string::npos);
  EXPECT_NE(MemoryText({.predicted = table}, Bytes(1238)).find("it does not fit"),
            std::string::npos);
}

TEST(MemoryTableTest, BothColumnsHaveTheSameWords) {
  const MemoryTable table = PredictedMemory(SomeMemory(), Bytes(60), Bytes(500));
  EXPECT_EQ(MemoryText({.predicted = table, .measured = table}, {}),
            "  where memory is        predicted  measured\n"
            "  weights                   1000 B    1000 B\n"
            "  feature map                200 B     200 B\n"
            "  variables                   30 B      30 B\n"
            "  inputs and outputs           5 B       5 B\n"
            "  granularity                  4 B       4 B\n"
            "  total on the device     1.21 KiB  1.21 KiB\n"
            "  caller's buffers            60 B      60 B\n"
            "  areas on the host            7 B       7 B\n"
            "  program and libraries      500 B     500 B\n"
            "  total resident          1.76 KiB  1.76 KiB\n");
}

}  // namespace memory_table_test
}  // namespace plimsoll::cli
