#include "plimsoll/device/driver_costs.h"

#include <gtest/gtest.h>

namespace plimsoll::device {
namespace driver_costs_test {

TEST(DriverCostsTest, CostsLieOnLinesBetweenTheMeasuredSizes) {
  const CostBySize cost{10, 264, 1032};
  struct Case {
    Bytes size;
    int64_t nanoseconds;
  };
  for (const Case& c : {Case{Bytes(0), 10000}, Case{KiB(4), 10000}, Case{MiB(2), 10000},
                        Case{MiB(3), 11000}, Case{MiB(256), 264000}, Case{MiB(257), 265000},
                        Case{GiB(1), 1032000}, Case{GiB(2), 2056000}}) {
    EXPECT_EQ(cost.Nanoseconds(c.size), c.nanoseconds) << c.size.value();
  }
}

TEST(DriverCostsTest, DefaultsAreTheMeasuredFigures) {
  const DriverCosts costs;
  EXPECT_EQ(costs.Nanoseconds(DeviceCall::kCreateChunk, MiB(2)), 16000);
  EXPECT_EQ(costs.Nanoseconds(DeviceCall::kMap, MiB(256)), 1300);
  EXPECT_EQ(costs.Nanoseconds(DeviceCall::kSetAccess, GiB(1)), 101000);
  EXPECT_EQ(costs.Nanoseconds(DeviceCall::kUnmap, MiB(256)), 27000);
  EXPECT_EQ(costs.Nanoseconds(DeviceCall::kDestroyChunk, GiB(1)), 582000);
  EXPECT_EQ(costs.Nanoseconds(DeviceCall::kAllocatePlain, MiB(2)), 60000);
  EXPECT_EQ(costs.Nanoseconds(DeviceCall::kReserveAddress, GiB(4096)), 35000);
  EXPECT_GT(costs.Nanoseconds(DeviceCall::kSynchronizeStream, Bytes(0)), 0);
  EXPECT_EQ(costs.Nanoseconds(DeviceCall::kLaunchHost, Bytes(0)), 0);
}

TEST(DriverCostsTest, GrowingTo64GiBInLargeChunksIsCheap) {
  const DriverCosts costs;
  const auto grow = [&](Bytes chunk) {
    const int64_t chunks = GiB(64).value() / chunk.value();
    return chunks * (costs.create_chunk.Nanoseconds(chunk) + costs.map.Nanoseconds(chunk) +
                     costs.set_access.Nanoseconds(chunk));
  };
  EXPECT_LT(grow(GiB(1)), 60'000'000);
  EXPECT_GT(grow(MiB(2)), 1'000'000'000);
}

}  // namespace driver_costs_test
}  // namespace plimsoll::device
