#include "replay/memory_snapshot.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "replay/pickle_reader.h"

namespace plimsoll::replay {
namespace memory_snapshot_test {

// A snapshot as Python's pickle writes it with protocol 0, which people can read.
std::string Text(const std::string& text) { return "V" + text + "\n"; }
std::string Number(int64_t number) { return "L" + std::to_string(number) + "L\n"; }

std::string Event(const std::string& action, int64_t address, int64_t size) {
  return "(d" + Text("action") + Text(action) + "s" + Text("addr") + Number(address) + "s" +
         Text("size") + Number(size) + "s" + Text("stream") + Number(0) + "s";
}

std::string Snapshot(const std::vector<std::string>& events, const std::string& blocks = "") {
  std::string listed;
  for (const std::string& event : events) listed += event + "a";
  return "(d" + Text("segments") + "(l(d" + Text("device") + Number(0) + "s" + Text("address") +
         Number(4096) + "s" + Text("blocks") + "(l" + blocks + "sas" + Text("device_traces") +
         "(l(l" + listed + "as.";
}

TEST(MemorySnapshotTest, BlocksOlderThanTheRecordingLiveFromItsBeginning) {
  const std::string held = "(d" + Text("address") + Number(9000) + "s" + Text("size") +
                           Number(512) + "s" + Text("state") + Text("active_allocated") + "sa";
  const auto trace = ParseSnapshot(
      Snapshot({Event("alloc", 5000, 100), Event("free_requested", 7000, 300),
                Event("free_completed", 7000, 300), Event("free_completed", 8000, 40)},
               held),
      "s");
  ASSERT_TRUE(trace.ok()) << trace.error().Text();
  EXPECT_EQ(trace->blocks, 4U);
  EXPECT_EQ(trace->PeakAllocated(), Bytes(100 + 300 + 40 + 512));
  // The older ones come first, whatever their order.
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(trace->events[i].kind, TraceEvent::Kind::kAllocate);
  EXPECT_EQ(trace->events[3].bytes, Bytes(100));
  EXPECT_EQ(trace->events.back().kind, TraceEvent::Kind::kCompleted);
}

TEST(MemorySnapshotTest, AnAddressIsUsedAgainOnceItsFreeIsCompleted) {
  const auto trace =
      ParseSnapshot(Snapshot({Event("alloc", 1, 10), Event("free_requested", 1, 10),
                              Event("free_completed", 1, 10), Event("alloc", 1, 20)}),
                    "s");
  ASSERT_TRUE(trace.ok()) << trace.error().Text();
  EXPECT_EQ(trace->blocks, 2U);
  EXPECT_EQ(trace->PeakAllocated(), Bytes(20));
}

TEST(MemorySnapshotTest, WhatCannotBeIsRefused) {
  for (const auto& events : std::vector<std::vector<std::string>>{
           {Event("alloc", 1, 10), Event("alloc", 1, 10)},
           {Event("alloc", 1, 10), Event("free_completed", 1, 10)},
           {Event("alloc", 1, 10), Event("free_requested", 1, 10), Event("free_requested", 1, 10)},
           {Event("alloc", 1, -10)},
           {Event("alloc", 1, int64_t{1} << 60)},
           {"(d" + Text("action") + Text("alloc") + "s"}}) {
    const auto trace = ParseSnapshot(Snapshot(events), "s");
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.error().code, "replay.pickle");
    EXPECT_EQ(trace.error().kind, ErrorKind::kBadFile);
  }
}

TEST(MemorySnapshotTest, InstructionsThatMakeObjectsAreRefused) {
  for (const std::string pickle :
       {"cos\nsystem\n(Vtouch x\ntR.", "\x80\x04\x8c\x02os\x8c\x06system\x93.", "(ios\nsystem\n.",
        "}b.", "\x80\x02}\x81.", "P1\n.", "\x82\x01."}) {
    PickleReader reader("s");
    const auto read = reader.Read(pickle);
    ASSERT_FALSE(read.ok()) << pickle;
    EXPECT_NE(read.error().why.find("makes an object or is unknown"), std::string::npos)
        << read.error().Text();
  }
}

TEST(MemorySnapshotTest, HostileBytesAreRefusedOrReadAndNothingElse) {
  const std::string whole = Snapshot({Event("alloc", 1, 10), Event("free_requested", 1, 10)});
  std::mt19937 draw(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = whole;
    for (int k = 0; k <= i % 4; ++k) damaged[draw() % damaged.size()] = static_cast<char>(draw());
    if (i % 3 == 0) damaged.resize(draw() % damaged.size());
    const auto trace = ParseSnapshot(damaged, "s");
    EXPECT_TRUE(trace.ok() || !trace.error().code.empty());
  }
  // A place to remember far beyond the file, a list in itself, many ends without a beginning.
  for (const std::string& hostile : {std::string("}p268435455\n."),
                                     std::string("]q\x01h\x01"
                                                 "a."),
                                     std::string(100'000, 't'), std::string(100'000, '('),
                                     std::string("\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.")}) {
    PickleReader reader("s");
    (void)reader.Read(hostile);
    EXPECT_FALSE(ParseSnapshot(hostile, "s").ok());
  }
}

}  // namespace memory_snapshot_test
}  // namespace plimsoll::replay
