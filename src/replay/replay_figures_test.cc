// Every figure of a replay on traces whose figures are known.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "plimsoll/base/text.h"
#include "plimsoll/device/device_call.h"
#include "replay/offline_bound.h"
#include "replay/timed_replay.h"
#include "replay/trace_generator.h"

namespace plimsoll::replay {
namespace replay_figures_test {

using device::DeviceCall;

// "a0 4" takes 4 MiB for block 0, "f0" frees it; blocks are on stream 0, events 10 us apart.
Trace MakeTrace(const std::vector<std::string>& events) {
  std::string text = "event,id,bytes,stream,time_us\n";
  int64_t time = 100;
  for (const std::string& event : events) {
    const auto words = Split(event, ' ');
    const int64_t bytes = words.size() > 1 ? *ParseInteger(words[1]) << 20 : 0;
    text += StrCat(event[0], ",", words[0].substr(1), ",", bytes, ",0,", time += 10, "\n");
  }
  const auto trace = ParseTrace(text, "made");
  EXPECT_TRUE(trace.ok());
  return trace.ok() ? *trace : Trace();
}

ReplayOptions Options(std::string allocator, int64_t repeat = 1) {
  ReplayOptions options;
  options.allocator = std::move(allocator);
  options.repeat = repeat;
  return options;
}

// The n-th thing that is timed, from 0, takes 10 * (n + 1) ticks beyond what reading costs.
class ScriptedClock final : public PairClock {
 public:
  uint64_t Read() override {
    if (reads_++ % 2 == 1) now_ += overhead() + 10 * (reads_ / 2);
    return now_;
  }
  uint64_t overhead() const override { return 3; }
  double NanosecondsPerTick() const override { return 0.5; }
  uint64_t reads() const { return reads_; }

 private:
  uint64_t now_ = 1000;
  uint64_t reads_ = 0;
};

TEST(ReplayFiguresTest, PercentilesAreOfPairsThatMadeNoDeviceCall) {
  std::vector<std::string> events;
  for (int i = 0; i <= 100; ++i) {
    events.push_back(StrCat("a", i, " 4"));
    events.push_back(StrCat("f", i));
  }
  ScriptedClock clock;
  const auto result = TimedReplay(MakeTrace(events), Options("scalable"), clock);
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_EQ(result->timed_pairs, 100) << "the first has to grow";
  // The i-th pair takes 10 * (2 i + 1) + 10 * (2 i + 2) ticks.
  EXPECT_DOUBLE_EQ(result->ns_per_pair_p50, 0.5 * (40 * 50 + 30));
  EXPECT_DOUBLE_EQ(result->ns_per_pair_p99, 0.5 * (40 * 99 + 30));
  EXPECT_EQ(clock.reads(), 404u);
}

TEST(ReplayFiguresTest, ABlockThatHadToGrowIsNotTimed) {
  const auto result =
      Replay(MakeTrace({"a0 4", "f0", "a1 4", "a2 4", "f1", "f2"}), Options("scalable"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->timed_pairs, 1) << "the second block alone finds memory";
  EXPECT_GT(result->ns_per_pair_p99, 0);
}

TEST(ReplayFiguresTest, CallsAreCountedFromTheFourthPassOn) {
  // The cache cannot keep both blocks, so each pass gives both back and takes them again.
  ReplayOptions options = Options("caching");
  options.capacity = MiB(16);
  const Trace trace = MakeTrace({"a0 10", "f0", "a1 14", "f1"});
  const auto calls = [](const ReplayResult& result) {
    int64_t sum = 0;
    for (const int64_t count : result.device_calls) sum += count;
    return sum;
  };
  std::vector<ReplayResult> results;
  for (int64_t repeat = 1; repeat <= 6; ++repeat) {
    options.repeat = repeat;
    const auto result = Replay(trace, options);
    ASSERT_TRUE(result.ok()) << result.error().Text();
    results.push_back(*result);
    EXPECT_EQ(result->repeat, repeat);
  }
  const int64_t of_a_pass = calls(results[2]) - calls(results[1]);
  EXPECT_EQ(of_a_pass, 8) << "a refusal, a wait, a free and a new block, twice";
  EXPECT_EQ(results[2].calls_after_warmup, 0);
  EXPECT_EQ(results[3].calls_after_warmup, of_a_pass);
  EXPECT_EQ(results[5].calls_after_warmup, 3 * of_a_pass);
}

TEST(ReplayFiguresTest, TheSmallestCapacityFitsAndOnePageLessDoesNot) {
  struct Case {
    std::string allocator;
    std::vector<std::string> events;
    int64_t mebibytes;
  };
  for (const Case& c : {
           Case{"caching", {"a0 4", "f0", "a1 10", "f1"}, 10},  // the first one goes for the second
           Case{"caching", {"a0 4", "a1 10", "f0", "a2 7", "f1", "f2"}, 18},
           Case{"caching", {"a0 30", "f0", "a1 3", "f1", "a2 40", "f2"}, 40},
           Case{"scalable", {"a0 9", "f0"}, 10},
           Case{"scalable", {"a0 64", "f0", "a1 20", "a2 20", "f1", "f2"}, 64},
       }) {
    ReplayOptions options = Options(c.allocator);
    options.find_capacity = true;
    const Trace trace = MakeTrace(c.events);
    const auto found = Replay(trace, options);
    ASSERT_TRUE(found.ok()) << found.error().Text();
    ASSERT_TRUE(found->minimum_capacity.has_value());
    EXPECT_EQ(*found->minimum_capacity, MiB(c.mebibytes)) << c.events.back();
    options.find_capacity = false;
    options.capacity = *found->minimum_capacity;
    EXPECT_TRUE(Replay(trace, options).ok());
    options.capacity = *found->minimum_capacity - MiB(2);
    EXPECT_FALSE(Replay(trace, options).ok());
  }
}

TEST(ReplayFiguresTest, TheFiguresOfASmallTraceAreExact) {
  const Trace trace = MakeTrace({"a0 3", "a1 5", "f0", "c0", "a2 2", "f1"});
  const auto result = Replay(trace, Options("scalable", 2));
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_EQ(result->allocator, "scalable");
  EXPECT_EQ(result->device, "fake");
  EXPECT_EQ(result->repeat, 2);
  EXPECT_EQ(result->peak_allocated, MiB(8));
  EXPECT_EQ(result->peak_reserved, MiB(8));
  EXPECT_DOUBLE_EQ(result->ratio, 1.0);
  EXPECT_EQ(result->minimum_capacity, std::nullopt);
  EXPECT_EQ(result->trace_us, 50);
  EXPECT_EQ(result->timed_pairs, 4) << "the third block of the first pass, all of the second";
  EXPECT_EQ(result->calls_after_warmup, 0);
  EXPECT_EQ(result->reserved_after_trim, Bytes(0));
  EXPECT_EQ(result->offline_bound, MiB(8));
  EXPECT_TRUE(result->modelled_driver_us.has_value());
  const auto count = [&](DeviceCall call) {
    return result->device_calls[static_cast<size_t>(call)];
  };
  EXPECT_EQ(count(DeviceCall::kCreateStream), 1);
  EXPECT_EQ(count(DeviceCall::kReserveAddress), 2);
  EXPECT_EQ(count(DeviceCall::kCreateChunk), 2);
  EXPECT_EQ(count(DeviceCall::kUnmap), 0) << "the trim is not part of the replay";
}

TEST(ReplayFiguresTest, ARealDeviceHasNoModelledTimeAndAnEmptyTraceNoRatio) {
  ReplayOptions options = Options("caching");
  options.device = "cpu";
  options.offline_bound = false;
  const auto real = Replay(MakeTrace({"a0 1", "f0"}), options);
  ASSERT_TRUE(real.ok()) << real.error().Text();
  EXPECT_EQ(real->device, "cpu");
  EXPECT_EQ(real->modelled_driver_us, std::nullopt);
  EXPECT_EQ(real->offline_bound, std::nullopt);
  const auto empty = Replay(Trace(), ReplayOptions());
  ASSERT_TRUE(empty.ok()) << empty.error().Text();
  EXPECT_DOUBLE_EQ(empty->ratio, 1);
  EXPECT_EQ(empty->timed_pairs, 0);
  EXPECT_EQ(empty->trace_us, 0);
}

TEST(ReplayFiguresTest, WrongOptionsAreRefusedBeforeAnythingRuns) {
  const Trace trace = MakeTrace({"a0 1", "f0"});
  const auto none = Replay(trace, Options("caching", 0));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, "replay.usage");
  ReplayOptions options = Options("caching");
  options.device = "abacus";
  EXPECT_EQ(Replay(trace, options).error().code, "device.unknown_kind");
  options = Options("caching");
  options.capacity = Bytes(1000);
  EXPECT_EQ(Replay(trace, options).error().code, "memory.out_of_memory");
  options.capacity = Bytes(0);
  options.granularity = Bytes(3);
  EXPECT_EQ(Replay(trace, options).error().code, "device.setting");
}

ReplayResult MadeUpResult() {
  ReplayResult result;
  result.allocator = "caching";
  result.device = "fake";
  result.repeat = 7;
  result.peak_allocated = MiB(1);
  result.peak_reserved = MiB(2);
  result.ratio = 2.5;
  result.ns_per_pair_p50 = 12.5;
  result.ns_per_pair_p99 = 99.5;
  result.timed_pairs = 8;
  result.device_calls[static_cast<size_t>(DeviceCall::kMap)] = 3;
  result.device_calls[static_cast<size_t>(DeviceCall::kFill)] = 4;
  result.trace_us = 50;
  result.calls_after_warmup = 6;
  result.reserved_after_trim = KiB(4);
  return result;
}

TEST(ReplayFiguresTest, TheReportSaysEachFigureUnderItsName) {
  ReplayResult result = MadeUpResult();
  EXPECT_EQ(result.ToJson(),
            "{\"allocator\": \"caching\", \"device\": \"fake\", \"repeat\": 7, "
            "\"peak_allocated_bytes\": 1048576, \"peak_reserved_bytes\": 2097152, \"ratio\": 2.5, "
            "\"minimum_capacity_bytes\": null, \"ns_per_pair_p50\": 12.5, \"ns_per_pair_p99\": "
            "99.5, \"timed_pairs\": 8, \"device_calls\": {\"map\": 3, \"fill\": 4}, "
            "\"modelled_driver_us\": null, \"driver_us\": null, \"driver_share\": null, "
            "\"blocks_checked\": 0, \"trace_us\": 50, \"calls_after_warmup\": 6, "
            "\"reserved_after_trim_bytes\": 4096, \"offline_bound_bytes\": null}");
  EXPECT_EQ(result.ToText(),
            "allocator       caching\npeak allocated  1 MiB\npeak reserved   2 MiB  (2.5 of what "
            "was allocated)\n"
            "cached pair     12.5 ns median, 99.5 ns p99\n");
  result.minimum_capacity = MiB(3);
  result.offline_bound = MiB(4);
  result.modelled_driver_us = 1.5;
  const std::string json = result.ToJson();
  for (const char* part : {"\"minimum_capacity_bytes\": 3145728",
                           "\"offline_bound_bytes\": 4194304", "\"modelled_driver_us\": 1.5"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(result.ToText(),
            "allocator       caching\npeak allocated  1 MiB\npeak reserved   2 MiB  (2.5 of what "
            "was allocated)\n"
            "fits from       3 MiB\nstatic plan     4 MiB\n"
            "cached pair     12.5 ns median, 99.5 ns p99\ndriver time     1.5 us, modelled, beside "
            "50 us of the trace\n");
  result = MadeUpResult();
  result.driver_us = 70;
  result.blocks_checked = 9;
  EXPECT_NE(result.ToJson().find("\"driver_us\": 70, \"driver_share\": 0.2, \"blocks_checked\": 9"),
            std::string::npos)
      << result.ToJson();
  EXPECT_EQ(result.ToText(),
            "allocator       caching\npeak allocated  1 MiB\npeak reserved   2 MiB  (2.5 of what "
            "was allocated)\n"
            "cached pair     12.5 ns median, 99.5 ns p99\n"
            "driver time     70 us in calls, 0.2 of the trace's time\n"
            "contents        9 blocks as written\n");
  result.trace_us = 0;
  EXPECT_EQ(result.DriverShare(), std::nullopt);
}

TEST(OfflineBoundTest, LivesThatMeetAreAddedAndOthersShare) {
  EXPECT_EQ(OfflineBound(MakeTrace({"a0 3", "f0", "a1 5", "f1"})), MiB(5));
  EXPECT_EQ(OfflineBound(MakeTrace({"a0 3", "a1 5", "f0", "f1"})), MiB(8));
  EXPECT_EQ(OfflineBound(MakeTrace({"a0 3", "a1 5", "f0", "a2 3"})), MiB(8))
      << "not freed: to the end";
  const auto odd = ParseTrace("event,id,bytes,stream,time_us\na,1,1,0,0\na,2,513,0,1\n", "t");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(OfflineBound(*odd), Bytes(512 + 1024));
}

TEST(TraceFiguresTest, IdsAndStreamsAreDenseAndFreesAreOfTheirAllocation) {
  const auto trace = ParseTrace(
      "event,id,bytes,stream,time_us\r\na,70,100,9,5\r\na,3,200,4,6\r\n\r\nf,70,1,4,7\r\n"
      "c,70,1,4,8\r\na,8,150,9,9\r\nf,3,0,0,30\r\n",
      "t");
  ASSERT_TRUE(trace.ok()) << trace.error().Text();
  EXPECT_EQ(trace->blocks, 3u);
  EXPECT_EQ(trace->streams, 2u);
  ASSERT_EQ(trace->events.size(), 6u);
  const uint32_t blocks[] = {0, 1, 0, 0, 2, 1};
  const uint32_t streams[] = {0, 1, 0, 0, 0, 1};
  const int64_t bytes[] = {100, 200, 100, 100, 150, 200};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(trace->events[i].block, blocks[i]) << i;
    EXPECT_EQ(trace->events[i].stream, streams[i]) << i;
    EXPECT_EQ(trace->events[i].bytes, Bytes(bytes[i])) << i;
  }
  EXPECT_EQ(trace->events[3].kind, TraceEvent::Kind::kCompleted);
  EXPECT_EQ(trace->PeakAllocated(), Bytes(350));
  EXPECT_EQ(trace->DurationUs(), 25);
}

TEST(TraceFiguresTest, AnErrorNamesTheLineAndTheReason) {
  struct Case {
    std::string body, where, why;
  };
  for (const Case& c :
       {Case{"a,1,1,0,0\nf,1,1,0,1\nf,1,1,0,2", "t:4", "id 1 is not live"},
        Case{"a,1,1,0,0\nc,1,1,0,1", "t:3", "id 1 was not freed"},
        Case{"a,1,1,0,0\nf,1,1,0,1\nc,1,1,0,1\nc,1,1,0,2", "t:5", "id 1 was not freed"},
        Case{"a,1,1,0,0\n\na,1,1,0,1", "t:4", "id 1 is allocated twice"},
        Case{"f,1,1,0,0", "t:2", "id 1 is not live"}, Case{"z,1,1,0,0", "t:2", "unknown event 'z'"},
        Case{"a,1,1125899906842625,0,0", "t:2", "a cell is no number, or out of range"},
        Case{"a,1,1,0,", "t:2", "a cell is no number, or out of range"}}) {
    const auto refused = ParseTrace(StrCat("event,id,bytes,stream,time_us\n", c.body), "t");
    ASSERT_FALSE(refused.ok()) << c.body;
    EXPECT_EQ(refused.error().where, c.where);
    EXPECT_EQ(refused.error().why, c.why);
  }
  EXPECT_TRUE(ParseTrace("event,id,bytes,stream,time_us\na,1,1125899906842624,0,0\n", "t").ok());
}

TEST(TraceFiguresTest, AFileIsReadAsItsTextIs) {
  const std::string path =
      testing::TempDir() + "trace_figures_" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "event,id,bytes,stream,time_us\na,1,5,0,0\n";
  const auto trace = ReadTrace(path);
  std::remove(path.c_str());
  ASSERT_TRUE(trace.ok()) << trace.error().Text();
  EXPECT_EQ(trace->PeakAllocated(), Bytes(5));
}

TEST(TraceFiguresTest, APrefixKeepsIdsAndCountsTheBlocksInIt) {
  const Trace whole = MakeTrace({"a0 1", "a1 1", "f0", "a2 1"});
  const Trace part = Prefix(whole, 3);
  EXPECT_EQ(part.events.size(), 3u);
  EXPECT_EQ(part.blocks, 2u);
  EXPECT_EQ(part.streams, 1u);
  EXPECT_EQ(Prefix(whole, 99).events.size(), 4u);
}

}  // namespace replay_figures_test
}  // namespace plimsoll::replay
