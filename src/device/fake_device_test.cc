#include "plimsoll/device/fake_device.h"

#include <gtest/gtest.h>

namespace plimsoll::device {
namespace {

constexpr DeviceId kDevice{0};

TEST(FakeDeviceTest, ScriptFailsTheThirdMapAndNothingElse) {
  FakeDevice device;
  DeviceMemory& memory = device.memory();
  const auto range = memory.ReserveAddress(kDevice, MiB(16), Bytes(0));
  ASSERT_TRUE(range.ok());
  device.Fail({.call = DeviceCall::kMap, .first = 3, .kind = ErrorKind::kDoesNotFit});
  for (int64_t i = 0; i < 4; ++i) {
    const auto chunk = memory.CreateChunk(kDevice, MiB(2), {});
    ASSERT_TRUE(chunk.ok());
    const Status mapped = memory.Map(kDevice, range->base + i * MiB(2).value(), *chunk);
    EXPECT_EQ(mapped.ok(), i != 2) << i;
    if (i != 2) continue;
    EXPECT_EQ(mapped.error().kind, ErrorKind::kDoesNotFit);
  }
  EXPECT_EQ(device.outstanding().mappings, 3);
  EXPECT_EQ(device.statistics().failed, 1);
}

}  // namespace
}  // namespace plimsoll::device
