#include "profile/record/recorder.h"

#include <gtest/gtest.h>

#include <thread>

#include "profile/csv/memory_rows.h"

// Windows, totals and bounds of the recorder.
namespace plimsoll::profile {
namespace recorder_test {

using Kind = Event::Kind;

Event Piece(Kind kind, uint64_t address, int64_t bytes) {
  Event event;
  event.kind = kind;
  event.address = address;
  event.bytes = bytes;
  return event;
}

// A clock that stands still until it is moved.
struct HandClock {
  std::shared_ptr<int64_t> now = std::make_shared<int64_t>(1000);
  RecorderOptions Options(Bytes limit = MiB(64)) const {
    return {.limit = limit, .clock = [now = now] { return *now; }};
  }
};

TEST(RecorderTest, OutsideOfAWindowItOnlyCounts) {
  Recorder recorder;
  recorder.Record(Piece(Kind::kReserve, 0, 4096));
  recorder.Record(Piece(Kind::kAllocate, 1, 1024));
  recorder.Record(Piece(Kind::kAllocate, 2, 512));
  recorder.Record(Piece(Kind::kRelease, 1, 1024));
  EXPECT_EQ(recorder.counters().now, (MemoryTotals{512, 4096}));
  EXPECT_EQ(recorder.counters().most, (MemoryTotals{1536, 4096}));
  EXPECT_EQ(recorder.counters().events, 0);
  EXPECT_TRUE(recorder.Stop().events.empty());
}

TEST(RecorderTest, AWindowBeginsWithWhatIsHeldThen) {
  Recorder recorder;
  recorder.Record(Piece(Kind::kReserve, 0, 4096));
  recorder.Record(Piece(Kind::kAllocate, 1, 1024));
  recorder.Start();
  recorder.Record(Piece(Kind::kAllocate, 2, 512));
  recorder.Record(Piece(Kind::kRelease, 1, 1024));
  const Recording first = recorder.Stop();
  recorder.Record(Piece(Kind::kRelease, 2, 512));
  recorder.Start();
  recorder.Record(Piece(Kind::kAllocate, 3, 2048));
  const Recording second = recorder.Stop();
  EXPECT_EQ(first.before[0], (MemoryTotals{1024, 4096}));
  EXPECT_EQ(first.events.size(), 2U);
  EXPECT_EQ(second.before[0], (MemoryTotals{0, 4096}));
  EXPECT_EQ(second.events.size(), 1U);
}

TEST(RecorderTest, TimesOfADeviceStrictlyIncrease) {
  const HandClock clock;
  Recorder recorder(clock.Options());
  recorder.Start();
  for (int i = 0; i < 5; ++i) recorder.Record(Piece(Kind::kAllocate, 10 + i, 512));
  *clock.now = 1002;  // behind what was given out already
  recorder.Record(Piece(Kind::kAllocate, 20, 512));
  const Recording recording = recorder.Stop();
  ASSERT_EQ(recording.events.size(), 6U);
  EXPECT_EQ(recording.events[0].time, 1000);
  for (size_t i = 1; i < 6; ++i) {
    EXPECT_GT(recording.events[i].time, recording.events[i - 1].time);
  }
}

TEST(RecorderTest, TimesStrictlyIncreaseWhereThreadsRecordAtOneMoment) {
  const HandClock clock;
  Recorder recorder(clock.Options());
  recorder.Start();
  for (uint64_t i = 0; i < 4; ++i) {
    std::thread([&] { recorder.Record(Piece(Kind::kAllocate, 10 + i, 512)); }).join();
  }
  const Recording recording = recorder.Stop();
  ASSERT_EQ(recording.events.size(), 4U);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_GT(recording.events[i].time, recording.events[i - 1].time);
  }
}

TEST(RecorderTest, SumsAreCountedOutsideOfWindowsAndRefusedInside) {
  Recorder recorder;
  EXPECT_TRUE(recorder.CountOnly(0, 2048));
  EXPECT_TRUE(recorder.CountOnly(1536, 512)) << "what is given back goes first";
  EXPECT_EQ(recorder.counters().now.allocated, 1024);
  EXPECT_EQ(recorder.counters().most.allocated, 2048);
  recorder.Start();
  EXPECT_FALSE(recorder.CountOnly(0, 512));
  const Recording recording = recorder.Stop();
  EXPECT_EQ(recording.before[0].allocated, 1024);
  EXPECT_TRUE(recording.events.empty());
}

TEST(RecorderTest, WhatIsResidentIsAskedForOnceInAWhileAndFirstInEachWindow) {
  Recorder recorder;
  constexpr int64_t kWhile = 10'000'000;
  EXPECT_FALSE(recorder.ResidentIsDue(kWhile)) << "no window is open";
  recorder.Start();
  EXPECT_TRUE(recorder.ResidentIsDue(100));
  EXPECT_FALSE(recorder.ResidentIsDue(kWhile));
  EXPECT_TRUE(recorder.ResidentIsDue(100 + kWhile));
  recorder.Stop();
  recorder.Start();
  EXPECT_TRUE(recorder.ResidentIsDue(200 + kWhile)) << "it is the first of its window";
}

TEST(RecorderTest, BlocksOfAnAllocatorAreNamedByTheirTags) {
  Recorder recorder;
  recorder.Start();
  MemoryEvent event;
  event.bytes = Bytes(512);
  event.address = 77;
  event.tag = "conv \"1\"\xff";
  recorder.OnMemoryEvent(event);
  event.kind = MemoryEvent::Kind::kFree;
  recorder.OnMemoryEvent(event);
  const Recording recording = recorder.Stop();
  const std::vector<MemoryRow> rows = OperatorRows(recording);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(recording.Name(rows[0].name), "conv \"1\"\xEF\xBF\xBD");
  EXPECT_TRUE(rows[0].release);
}

TEST(RecorderTest, TenMillionEventsStayWithinTheLimitAndWhatIsDroppedIsTold) {
  constexpr int64_t kEvents = 10'000'000;
  Recorder recorder({.limit = MiB(8)});
  recorder.Start();
  for (int64_t i = 0; i < kEvents / 2; ++i) {
    recorder.Record(Piece(Kind::kAllocate, 1, 512));
    recorder.Record(Piece(Kind::kRelease, 1, 512));
  }
  const int64_t kept = recorder.counters().events;
  EXPECT_LE(kept * static_cast<int64_t>(sizeof(Event)), MiB(8).value());
  EXPECT_GT(kept * static_cast<int64_t>(sizeof(Event)), MiB(7).value());
  const Recording recording = recorder.Stop();
  EXPECT_EQ(recording.dropped, kEvents - kept);
  EXPECT_EQ(static_cast<int64_t>(recording.events.size()), kept);
  EXPECT_EQ(recorder.counters().now, MemoryTotals());
  // The next window has all its room again, and knows what happened in between.
  recorder.Start();
  recorder.Record(Piece(Kind::kAllocate, 1, 512));
  const Recording next = recorder.Stop();
  EXPECT_EQ(next.before[0], MemoryTotals());
  EXPECT_EQ(next.events.size(), 1U);
  EXPECT_EQ(next.dropped, 0);
}

TEST(RecorderTest, WhatThreadsTellWhileWindowsOpenAndCloseAddsUp) {
  constexpr int kThreads = 4;
  constexpr int kPieces = 20'000;
  Recorder recorder;
  std::atomic<int> running = kThreads;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPieces; ++i) {
        const auto address = static_cast<uint64_t>(t * kPieces + i + 1);
        recorder.Record(Piece(Kind::kAllocate, address, 512));
        if (i % 3 != 0) recorder.Record(Piece(Kind::kRelease, address, 512));
      }
      --running;
    });
  }
  // Each window begins where the one before and what was told between them leave off.
  int64_t negative = 0;
  while (running.load() > 0) {
    recorder.Start();
    std::this_thread::yield();
    const Recording recording = recorder.Stop();
    ReplayTotals(recording, [&](const Event&, const MemoryTotals& totals) {
      negative += totals.allocated < 0 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(negative, 0);
  const int64_t held = kThreads * ((kPieces + 2) / 3);
  EXPECT_EQ(recorder.counters().now.allocated, held * 512);
  recorder.Start();
  EXPECT_EQ(recorder.Stop().before[0].allocated, held * 512);
}

TEST(RecorderTest, RecordersOfOneThreadKeepTheirEventsApart) {
  Recorder one;
  one.Start();
  {
    Recorder other;
    other.Start();
    other.Record(Piece(Kind::kAllocate, 1, 512));
    EXPECT_EQ(other.Stop().events.size(), 1U);
  }
  one.Record(Piece(Kind::kAllocate, 1, 512));
  EXPECT_EQ(one.Stop().events.size(), 1U);
}

}  // namespace recorder_test
}  // namespace plimsoll::profile
