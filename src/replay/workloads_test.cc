#include "replay/workloads.h"

#include <gtest/gtest.h>

#include "plimsoll/base/text.h"

namespace plimsoll::replay {
namespace workloads_test {

std::string Text(const Trace& trace) {
  std::string text = "event,id,bytes,stream,time_us\n";
  for (const TraceEvent& event : trace.events) {
    text += StrCat("afc"[static_cast<int>(event.kind)], ",", event.block, ",", event.bytes.value(),
                   ",", event.stream, ",", event.time_us, "\n");
  }
  return text;
}

TEST(WorkloadsTest, EveryFamilyGivesATraceThatReadsBack) {
  for (std::string_view family : WorkloadFamilies()) {
    const Result<Trace> made = GenerateWorkload(family, 7);
    ASSERT_TRUE(made.ok()) << family;
    const Result<Trace> read = ParseTrace(Text(*made), family);
    ASSERT_TRUE(read.ok()) << read.error().Text();
    EXPECT_EQ(read->PeakAllocated(), made->PeakAllocated()) << family;
    EXPECT_GT(made->PeakAllocated(), MiB(100)) << family;
    EXPECT_LT(made->PeakAllocated(), GiB(80)) << family;
    int64_t last = 0;
    for (const TraceEvent& event : made->events) {
      ASSERT_GE(event.time_us, last) << family;
      last = event.time_us;
    }
  }
}

TEST(WorkloadsTest, ASeedGivesTheSameTraceAndAnotherADifferentOne) {
  for (std::string_view family : WorkloadFamilies()) {
    const Trace once = *GenerateWorkload(family, 3);
    const Trace again = *GenerateWorkload(family, 3);
    ASSERT_EQ(once.events.size(), again.events.size()) << family;
    for (size_t i = 0; i < once.events.size(); ++i) {
      ASSERT_EQ(once.events[i].bytes, again.events[i].bytes) << family;
      ASSERT_EQ(once.events[i].time_us, again.events[i].time_us) << family;
    }
    EXPECT_NE(once.PeakAllocated(), GenerateWorkload(family, 4)->PeakAllocated()) << family;
  }
}

TEST(WorkloadsTest, AnUnknownFamilyIsRefusedWithTheNames) {
  const Result<Trace> refused = GenerateWorkload("opera", 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "replay.usage");
  EXPECT_NE(refused.error().remedy.find("serving_paged"), std::string::npos);
}

}  // namespace workloads_test
}  // namespace plimsoll::replay
