#include "plimsoll/replay/replay.h"

#include <gtest/gtest.h>

#include "plimsoll/base/text.h"
#include "replay/trace_generator.h"

namespace plimsoll::replay {
namespace replay_test {

ReplayOptions Options(std::string allocator = "scalable") {
  ReplayOptions options;
  options.allocator = std::move(allocator);
  return options;
}

TEST(TraceTest, ReadsEventsAndRefusesWhatIsNoTrace) {
  const auto trace =
      ParseTrace("event,id,bytes,stream,time_us\na,7,100,3,10\nf,7,100,3,20\nc,7,100,3,25\n", "t");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->events.size(), 3u);
  EXPECT_EQ(trace->PeakAllocated(), Bytes(100));
  EXPECT_EQ(trace->DurationUs(), 15);
  for (const char* body :
       {"x,1,1,0,0", "a,1,1,0", "a,1,-1,0,0", "f,1,1,0,0", "a,1,1,0,0\na,1,1,0,1",
        "a,1,1,0,0\nc,1,1,0,1", "a,one,1,0,0", "a,1,99999999999999999999,0,0"}) {
    const auto refused = ParseTrace(StrCat("event,id,bytes,stream,time_us\n", body), "t");
    ASSERT_FALSE(refused.ok()) << body;
    EXPECT_EQ(refused.error().code, "replay.bad_trace");
    EXPECT_EQ(refused.error().kind, ErrorKind::kBadFile);
  }
  EXPECT_FALSE(ParseTrace("", "t").ok());
  EXPECT_FALSE(ParseTrace("id,event\n", "t").ok());
  EXPECT_EQ(ReadTrace("/nowhere/at/all.csv").error().code, "replay.no_file");
}

TEST(ReplayTest, AGeneratedTraceStaysCloseToItsPeak) {
  const Trace trace = GenerateTrace({.steps = 10, .layers = 16, .unit = MiB(10)});
  const auto result = Replay(trace, Options());
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_LE(result->ratio, 1.03);
  EXPECT_GE(result->ratio, 1.0);
  EXPECT_EQ(result->reserved_after_trim, Bytes(0));
  EXPECT_GE(*result->offline_bound, result->peak_allocated);
}

TEST(ReplayTest, ARepeatedTraceMakesNoDeviceCallAfterWarmUp) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    GeneratorOptions generator;
    generator.seed = seed;
    generator.unit = MiB(4);
    ReplayOptions options = Options();
    options.repeat = 6;
    const auto result = Replay(GenerateTrace(generator), options);
    ASSERT_TRUE(result.ok()) << result.error().Text();
    EXPECT_EQ(result->calls_after_warmup, 0) << "seed " << seed;
  }
}

TEST(ReplayTest, EveryAllocatorReplaysSeveralStreamsOrSaysWhyNot) {
  const Trace trace = GenerateTrace({.streams = 3});
  for (const std::string& name : AllocatorNames()) {
    const auto result = Replay(trace, Options(name));
    EXPECT_EQ(result.ok(), name != "scalable") << name;
  }
  EXPECT_EQ(Replay(trace, Options("nobody")).error().code, "replay.usage");
  EXPECT_EQ(Replay(trace, Options("cachng")).error().remedy, "did you mean caching?");
}

TEST(ReplayTest, TheDefaultAllocatorFollowsTheNumberOfStreamsAndTheResultNamesIt) {
  for (uint32_t streams : {1u, 3u}) {
    const auto result = Replay(GenerateTrace({.steps = 2, .streams = streams}), ReplayOptions());
    ASSERT_TRUE(result.ok()) << result.error().Text();
    EXPECT_EQ(result->allocator, streams == 1 ? "scalable" : "stream_ordered");
    EXPECT_NE(result->ToText().find(result->allocator), std::string::npos);
  }
}

TEST(ReplayTest, TheSmallestCapacityIsRefusedOnADeviceThatIsReal) {
  ReplayOptions options;
  options.device = "cpu";
  options.find_capacity = true;
  EXPECT_EQ(Replay(GenerateTrace({.steps = 1, .unit = KiB(4)}), options).error().code,
            "replay.usage");
}

TEST(ReplayTest, TheSmallestCapacityIsCloseToThePeakAndOnceItFitsItFits) {
  const Trace trace = GenerateTrace({.steps = 4, .unit = MiB(8)});
  ReplayOptions options = Options();
  options.offline_bound = false;
  options.find_capacity = true;
  const auto found = Replay(trace, options);
  ASSERT_TRUE(found.ok()) << found.error().Text();
  EXPECT_LE(found->minimum_capacity->value(), found->peak_allocated.value() * 103 / 100);
  options.find_capacity = false;
  bool fitted = false;
  for (int64_t permille = 900; permille <= 1100; permille += 5) {
    options.capacity = Bytes(found->peak_allocated.value() / 1000 * permille);
    const auto result = Replay(trace, options);
    if (!result.ok()) {
      EXPECT_EQ(result.error().code, "memory.out_of_memory");
    }
    EXPECT_TRUE(result.ok() || !fitted) << permille;
    fitted = result.ok();
  }
  EXPECT_TRUE(fitted);
}

TEST(ReplayTest, JsonHoldsEveryFigure) {
  const auto result = Replay(GenerateTrace({.steps = 2}), Options());
  ASSERT_TRUE(result.ok());
  const std::string json = result->ToJson();
  for (const char* key :
       {"peak_allocated_bytes", "peak_reserved_bytes", "ratio", "minimum_capacity_bytes",
        "ns_per_pair_p50", "ns_per_pair_p99", "device_calls", "modelled_driver_us", "trace_us",
        "calls_after_warmup", "offline_bound_bytes"}) {
    EXPECT_NE(json.find(StrCat("\"", key, "\": ")), std::string::npos) << key;
  }
}

}  // namespace replay_test
}  // namespace plimsoll::replay
