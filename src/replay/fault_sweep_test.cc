#include "replay/fault_sweep.h"

#include <gtest/gtest.h>

#include "replay/trace_generator.h"

namespace plimsoll::replay {
namespace fault_sweep_test {

TEST(FaultSweepTest, EveryDeviceCallMayFailOnceWithPlentyOfMemory) {
  const Trace trace = Prefix(GenerateTrace({.steps = 4}), 2000);
  const auto result = SweepFaults(trace, GiB(8));
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_GT(result->recovered, 0);
  EXPECT_GT(result->refused, 0);
  EXPECT_EQ(result->recovered + result->refused, result->runs);
}

TEST(FaultSweepTest, EachCallFailsOnceInEachWay) {
  Trace trace;
  trace.blocks = 1;
  trace.streams = 1;
  trace.events = {{TraceEvent::Kind::kAllocate, 0, 0, MiB(2), 0},
                  {TraceEvent::Kind::kFree, 0, 0, MiB(2), 1}};
  const auto result = SweepFaults(trace, GiB(1));
  ASSERT_TRUE(result.ok()) << result.error().Text();
  // Two reservations, how much there is, a chunk created, mapped and made accessible.
  EXPECT_EQ(result->runs, 2 * 6);
  // Without addresses plain memory serves, without the figure nothing is lost, and a chunk that is
  // refused for want of memory is asked for again.
  EXPECT_EQ(result->recovered, 2 * 3 + 3);
  EXPECT_EQ(result->refused, 3);
}

TEST(FaultSweepTest, ATraceThatDoesNotFitIsNotSwept) {
  const auto result = SweepFaults(GenerateTrace({.steps = 1}), MiB(2));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, "memory.out_of_memory");
}

TEST(FaultSweepTest, EveryDeviceCallMayFailOnceOnADeviceThatIsNearlyFull) {
  const Trace trace = Prefix(GenerateTrace({.steps = 2, .streams = 2, .unit = KiB(512)}), 2000);
  const Bytes capacity = Bytes(trace.PeakAllocated().value() / 100 * 115).RoundUp(2 << 20);
  const auto result = SweepFaults(trace, capacity);
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_GT(result->runs, 50);
}

}  // namespace fault_sweep_test
}  // namespace plimsoll::replay
