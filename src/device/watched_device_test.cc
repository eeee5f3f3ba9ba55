#include "plimsoll/device/watched_device.h"

#include "device/conformance_fixture.h"

namespace plimsoll::device {
namespace watched_device_test {

using enum DeviceCall;

// A fake device of two under the watch.
struct Watched {
  std::shared_ptr<FakeDevice> under =
      std::make_shared<FakeDevice>(FakeOptions{.devices = 2, .capacity = GiB(1)});
  WatchedDevice device{under};
};

TEST(WatchedDeviceTest, EveryCallIsCountedOnceAndReachesTheDeviceBelow) {
  for (const DeviceCall call : AllDeviceCalls()) {
    Watched watched;
    const World world = MakeWorld(watched.device, kSecond);
    const auto calls = EveryCall(watched.device, world, MiB(2));
    const auto before = watched.device.calls();
    const int64_t total = watched.device.total();
    const FakeStatistics below = watched.under->statistics();

    EXPECT_TRUE(calls[static_cast<size_t>(call)].make(kSecond).ok()) << DeviceCallName(call);

    for (const DeviceCall other : AllDeviceCalls()) {
      const auto index = static_cast<size_t>(other);
      const int64_t expected = other == call ? 1 : 0;
      EXPECT_EQ(watched.device.calls()[index] - before[index], expected) << DeviceCallName(call);
      EXPECT_EQ(watched.under->statistics().count(other) - below.count(other), expected);
    }
    EXPECT_EQ(watched.device.total(), total + 1);
  }
}

TEST(WatchedDeviceTest, TheCallThatIsToFailDoesNothingAndTheNextOneWorks) {
  for (const DeviceCall call : AllDeviceCalls()) {
    Watched watched;
    const World world = MakeWorld(watched.device, kFirst);
    const auto calls = EveryCall(watched.device, world, MiB(2));
    const FakeOutstanding before = watched.under->outstanding();
    const int64_t below = watched.under->statistics().total();
    watched.device.FailAfter(0, ErrorKind::kUnsupported);
    const PreparedCall& prepared = calls[static_cast<size_t>(call)];
    EXPECT_TRUE(Refused(prepared.make(kFirst), call, ErrorKind::kUnsupported));
    EXPECT_EQ(watched.under->outstanding(), before);
    EXPECT_EQ(watched.under->statistics().total(), below);
    EXPECT_TRUE(prepared.make(kFirst).ok()) << DeviceCallName(call);
  }
}

TEST(WatchedDeviceTest, AFailureComesAfterTheCallsThatItSkipsUnlessItIsCalledOff) {
  Watched watched;
  const auto info = [&] { return watched.device.memory().Info(kFirst).ok(); };
  EXPECT_TRUE(info());
  watched.device.FailAfter(2, ErrorKind::kDoesNotFit);
  EXPECT_TRUE(info());
  EXPECT_TRUE(watched.device.SetCurrent(kSecond).ok());
  EXPECT_FALSE(info());
  EXPECT_TRUE(info());
  watched.device.FailAfter(0, ErrorKind::kDoesNotFit);
  watched.device.FailNoMore();
  EXPECT_TRUE(info());
  watched.device.FailAfter(5, ErrorKind::kDoesNotFit);
  watched.device.FailAfter(0, ErrorKind::kDoesNotFit);  // in place of the one before
  EXPECT_FALSE(info());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(info());
}

TEST(WatchedDeviceTest, BytesTakenAreToldByTypeAndRefusalsAreNotCounted) {
  Watched watched;
  DeviceMemory& memory = watched.device.memory();
  const ChunkId chunk = memory.CreateChunk(kFirst, MiB(2), {.type = MemoryType::kP2P}).value();
  ASSERT_TRUE(memory.CreateChunk(kSecond, MiB(8), {.type = MemoryType::kP2P}).ok());
  const Address block = memory.AllocatePlain(kFirst, MiB(3), MemoryType::kDevice).value();
  ASSERT_TRUE(memory.AllocatePlain(kFirst, MiB(4), MemoryType::kHost).ok());
  EXPECT_FALSE(memory.CreateChunk(kFirst, GiB(2), {}).ok());
  EXPECT_FALSE(memory.AllocatePlain(kFirst, GiB(2), MemoryType::kDevice).ok());
  ASSERT_TRUE(memory.DestroyChunk(kFirst, chunk).ok());
  ASSERT_TRUE(memory.FreePlain(kFirst, block).ok());
  EXPECT_EQ(watched.device.taken(MemoryType::kP2P), MiB(10));
  EXPECT_EQ(watched.device.taken(MemoryType::kDevice), MiB(3));
  EXPECT_EQ(watched.device.taken(MemoryType::kHost), MiB(4));
}

TEST(WatchedDeviceTest, WhatIsNoCallIsAnsweredByTheDeviceBelow) {
  Watched watched;
  ASSERT_TRUE(watched.under->SetCurrent(kSecond).ok());
  EXPECT_EQ(watched.device.Kind(), "fake");
  EXPECT_EQ(watched.device.Count(), 2);
  EXPECT_EQ(watched.device.Current(), kSecond);
  EXPECT_EQ(watched.device.memory().Granularity(kSecond), MiB(2));
  EXPECT_EQ(watched.device.memory().Granularity(kNoDevice), Bytes(0));
  EXPECT_EQ(watched.device.total(), 0);
}

}  // namespace watched_device_test
}  // namespace plimsoll::device
