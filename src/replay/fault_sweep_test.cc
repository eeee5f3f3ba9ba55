#include "replay/fault_sweep.h"

#include <gtest/gtest.h>

#include "replay/trace_generator.h"

namespace plimsoll::replay {
namespace {

TEST(FaultSweepTest, EveryDeviceCallMayFailOnceWithPlentyOfMemory) {
  const Trace trace = Prefix(GenerateTrace({.steps = 4}), 2000);
  const auto result = SweepFaults(trace, GiB(8));
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_GT(result->recovered, 0);
  EXPECT_GT(result->refused, 0);
}

TEST(FaultSweepTest, EveryDeviceCallMayFailOnceOnADeviceThatIsNearlyFull) {
  const Trace trace = Prefix(GenerateTrace({.steps = 2, .streams = 2, .unit = KiB(512)}), 2000);
  const Bytes capacity = Bytes(trace.PeakAllocated().value() / 100 * 115).RoundUp(2 << 20);
  const auto result = SweepFaults(trace, capacity);
  ASSERT_TRUE(result.ok()) << result.error().Text();
  EXPECT_GT(result->runs, 50);
}

}  // namespace
}  // namespace plimsoll::replay
