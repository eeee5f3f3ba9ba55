#include "plimsoll/device/fake_device.h"

#include <gtest/gtest.h>

#include "device/conformance_fixture.h"

namespace plimsoll::device {
namespace fake_device_test {

using enum DeviceCall;

uint64_t Mebibytes(int64_t count) { return static_cast<uint64_t>(MiB(count).value()); }

// A range with one accessible 2 MiB chunk at its start.
AddressRange MapOne(FakeDevice& device, DeviceId id = kFirst) {
  DeviceMemory& memory = device.memory();
  const AddressRange range = memory.ReserveAddress(id, MiB(16), Bytes(0)).value();
  EXPECT_TRUE(memory.Map(id, range.base, memory.CreateChunk(id, MiB(2), {}).value()).ok());
  EXPECT_TRUE(memory.SetAccess(id, range.base, MiB(2)).ok());
  return range;
}

TEST(FakeDeviceTest, TheScriptFailsTheThirdMapAndNothingElse) {
  FakeDevice device;
  DeviceMemory& memory = device.memory();
  const AddressRange range = memory.ReserveAddress(kFirst, MiB(16), Bytes(0)).value();
  device.Fail({.call = kMap, .first = 3, .kind = ErrorKind::kDoesNotFit});
  for (int i = 0; i < 5; ++i) {
    const ChunkId chunk = memory.CreateChunk(kFirst, MiB(2), {}).value();
    const Status mapped = memory.Map(kFirst, range.base + Mebibytes(2 * i), chunk);
    if (i == 2) {
      EXPECT_TRUE(Refused(mapped, kMap, ErrorKind::kDoesNotFit));
    } else {
      EXPECT_TRUE(mapped.ok());
    }
  }
  EXPECT_EQ(device.outstanding().mappings, 4);
  EXPECT_EQ(device.statistics().failed, 1);
}

TEST(FakeDeviceTest, TheScriptFailsTheNextCallsOfAnyKind) {
  FakeDevice device;
  device.Fail({.first = 2, .times = 2});
  EXPECT_TRUE(device.CreateStream(kFirst).ok());
  EXPECT_TRUE(Refused(device.CreateStream(kFirst).status(), kCreateStream));
  EXPECT_TRUE(Refused(device.memory().Info(kFirst).status(), kInfo));
  EXPECT_TRUE(device.memory().Info(kFirst).ok());
}

TEST(FakeDeviceTest, AFailureForEverEndsWhenItIsCleared) {
  FakeDevice device;
  device.Fail({.call = kInfo, .times = FakeFailure::kForEver, .kind = ErrorKind::kUnsupported});
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(Refused(device.memory().Info(kFirst).status(), kInfo, ErrorKind::kUnsupported));
  }
  device.ClearFailures();
  EXPECT_TRUE(device.memory().Info(kFirst).ok());
}

TEST(FakeDeviceTest, EveryCallCanFailWithEveryErrorAndThenHasDoneNothing) {
  for (const DeviceCall call : AllDeviceCalls()) {
    for (const ErrorKind kind :
         {ErrorKind::kDoesNotFit, ErrorKind::kRunFailed, ErrorKind::kUnsupported}) {
      FakeDevice device;
      const World world = MakeWorld(device, kFirst);
      const auto calls = EveryCall(device, world, MiB(2));
      const FakeOutstanding before = device.outstanding();
      device.Fail({.call = call, .kind = kind});
      const PreparedCall& prepared = calls[static_cast<size_t>(call)];
      EXPECT_TRUE(Refused(prepared.make(kFirst), call, kind));
      EXPECT_EQ(device.outstanding(), before) << DeviceCallName(call);
      EXPECT_EQ(device.PendingWork(world.stream), 0) << DeviceCallName(call);
      EXPECT_TRUE(prepared.make(kFirst).ok()) << DeviceCallName(call);
    }
  }
}

TEST(FakeDeviceTest, CallsAreCountedByKindFailedOnesToo) {
  FakeDevice device;
  MapOne(device);
  EXPECT_FALSE(device.memory().Map(kFirst, 0, ChunkId()).ok());
  const FakeStatistics statistics = device.statistics();
  EXPECT_EQ(statistics.count(kMap), 2);
  EXPECT_EQ(statistics.count(kCreateChunk), 1);
  EXPECT_EQ(statistics.count(kUnmap), 0);
  EXPECT_EQ(statistics.total(), 5);
  EXPECT_EQ(statistics.failed, 1);
  device.ResetStatistics();
  EXPECT_EQ(device.statistics().total(), 0);
  EXPECT_EQ(device.statistics().physical, MiB(2));
  EXPECT_EQ(device.statistics().peak_physical, MiB(2));
}

TEST(FakeDeviceTest, PeakPhysicalCountsChunksAndBlocksButNotTheHost) {
  FakeDevice device({.capacity = MiB(8)});
  DeviceMemory& memory = device.memory();
  const ChunkId chunk = memory.CreateChunk(kFirst, MiB(4), {}).value();
  const Address block = memory.AllocatePlain(kFirst, MiB(2), MemoryType::kDevice).value();
  ASSERT_TRUE(memory.AllocatePlain(kFirst, MiB(64), MemoryType::kHost).ok());
  EXPECT_EQ(memory.Info(kFirst)->free, MiB(2));
  ASSERT_TRUE(memory.DestroyChunk(kFirst, chunk).ok());
  ASSERT_TRUE(memory.FreePlain(kFirst, block).ok());
  EXPECT_EQ(device.statistics().physical, Bytes(0));
  EXPECT_EQ(device.statistics().peak_physical, MiB(6));
}

TEST(FakeDeviceTest, ARunOfChunksCostsTheSumOfItsChunks) {
  FakeOptions options;
  FakeDevice device(options);
  DeviceMemory& memory = device.memory();
  const AddressRange range = memory.ReserveAddress(kFirst, MiB(16), Bytes(0)).value();
  for (int i = 0; i < 8; ++i) {
    const ChunkId chunk = memory.CreateChunk(kFirst, MiB(2), {}).value();
    ASSERT_TRUE(memory.Map(kFirst, range.base + Mebibytes(2 * i), chunk).ok());
  }
  const DriverCosts& costs = options.costs;
  double expected = costs.reserve_address + 8 * (costs.create_chunk.at_2_mib + costs.map.at_2_mib);
  EXPECT_DOUBLE_EQ(device.statistics().modelled_driver_us, expected);
  ASSERT_TRUE(memory.SetAccess(kFirst, range.base, MiB(16)).ok());
  ASSERT_TRUE(memory.Unmap(kFirst, range.base, MiB(16)).ok());
  ASSERT_TRUE(device.SynchronizeDevice(kFirst).ok());
  expected += 8 * (costs.set_access.at_2_mib + costs.unmap.at_2_mib) + costs.synchronize;
  EXPECT_DOUBLE_EQ(device.statistics().modelled_driver_us, expected);
}

TEST(FakeDeviceTest, AddressesOfDevicesNeverMeet) {
  FakeDevice device({.devices = 3});
  for (int i = 0; i < 3; ++i) {
    const DeviceId id{i};
    const Address low = device.memory().AllocatePlain(id, Bytes(1), MemoryType::kDevice).value();
    const AddressRange high = device.memory().ReserveAddress(id, GiB(8 * 1024), Bytes(0)).value();
    EXPECT_EQ(low >> 44, (Address{1} << 4) + static_cast<Address>(i));
    EXPECT_EQ((high.base + static_cast<Address>(high.size.value()) - 1) >> 44, low >> 44);
  }
}

TEST(FakeDeviceTest, WorkStaysPendingUntilTheTestCompletesIt) {
  FakeDevice device;
  const StreamId stream = device.CreateStream(kFirst).value();
  std::vector<int> ran;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(device.LaunchHost(kFirst, stream, [&ran, i] { ran.push_back(i); }).ok());
  }
  const EventId event = device.RecordEvent(kFirst, stream).value();
  EXPECT_EQ(device.PendingWork(stream), 3);
  device.CompleteWork(stream, 2);
  EXPECT_EQ(ran, (std::vector<int>{0, 1}));
  EXPECT_FALSE(device.EventReached(kFirst, event).value());
  device.CompleteWork(stream, 100);
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(device.EventReached(kFirst, event).value());
}

TEST(FakeDeviceTest, CompletingAWaitCompletesWhatItWaitsFor) {
  FakeDevice device;
  const StreamId first = device.CreateStream(kFirst).value();
  const StreamId second = device.CreateStream(kFirst).value();
  std::string ran;
  ASSERT_TRUE(device.LaunchHost(kFirst, first, [&ran] { ran += 'a'; }).ok());
  const EventId event = device.RecordEvent(kFirst, first).value();
  ASSERT_TRUE(device.LaunchHost(kFirst, first, [&ran] { ran += 'x'; }).ok());
  ASSERT_TRUE(device.WaitEvent(kFirst, second, event).ok());
  ASSERT_TRUE(device.LaunchHost(kFirst, second, [&ran] { ran += 'b'; }).ok());
  ASSERT_TRUE(device.SynchronizeStream(kFirst, second).ok());
  EXPECT_EQ(ran, "ab");
  EXPECT_EQ(device.PendingWork(first), 1);
}

TEST(FakeDeviceTest, ALongChainOfWaitsIsNoProblem) {
  FakeDevice device;
  const StreamId streams[] = {device.CreateStream(kFirst).value(),
                              device.CreateStream(kFirst).value()};
  int ran = 0;
  for (int i = 0; i < 100000; ++i) {
    ASSERT_TRUE(device.LaunchHost(kFirst, streams[i % 2], [&ran] { ++ran; }).ok());
    const EventId event = device.RecordEvent(kFirst, streams[i % 2]).value();
    ASSERT_TRUE(device.WaitEvent(kFirst, streams[(i + 1) % 2], event).ok());
    ASSERT_TRUE(device.DestroyEvent(kFirst, event).ok());
  }
  ASSERT_TRUE(device.SynchronizeStream(kFirst, streams[0]).ok());
  EXPECT_EQ(ran, 100000);
}

TEST(FakeDeviceTest, AskingForAnEventCompletesItWhereTheOptionsSaySo) {
  FakeDevice device({.queries_complete = true});
  const StreamId stream = device.CreateStream(kFirst).value();
  ASSERT_TRUE(device.LaunchHost(kFirst, stream, [] {}).ok());
  const EventId event = device.RecordEvent(kFirst, stream).value();
  ASSERT_TRUE(device.LaunchHost(kFirst, stream, [] {}).ok());
  EXPECT_TRUE(device.EventReached(kFirst, event).value());
  EXPECT_EQ(device.PendingWork(stream), 1);
}

TEST(FakeDeviceTest, WorkThatNamesItsMemoryKeepsOnlyThat) {
  FakeDevice device;
  const AddressRange used = MapOne(device);
  const AddressRange spare = MapOne(device);
  const StreamId stream = device.CreateStream(kFirst).value();
  ASSERT_TRUE(device.EnqueueUsing(kFirst, stream, {{used.base, MiB(1)}}).ok());
  EXPECT_TRUE(device.memory().Unmap(kFirst, spare.base, MiB(2)).ok());
  EXPECT_TRUE(Refused(device.memory().Unmap(kFirst, used.base, MiB(2)), kUnmap));
  EXPECT_TRUE(Refused(device.EnqueueUsing(kFirst, stream, {{spare.base, MiB(1)}}), kEnqueue));
  device.CompleteWork(stream, 1);
  EXPECT_TRUE(device.memory().Unmap(kFirst, used.base, MiB(2)).ok());
}

TEST(FakeDeviceTest, WorkThatNamesNothingKeepsAllMemoryThatIsOlder) {
  FakeDevice device({.devices = 2});
  const AddressRange old = MapOne(device);
  const AddressRange elsewhere = MapOne(device, kSecond);
  const StreamId stream = device.CreateStream(kFirst).value();
  ASSERT_TRUE(device.LaunchHost(kFirst, stream, [] {}).ok());
  const AddressRange young = MapOne(device);
  EXPECT_TRUE(device.memory().Unmap(kFirst, young.base, MiB(2)).ok());
  EXPECT_TRUE(device.memory().Unmap(kSecond, elsewhere.base, MiB(2)).ok());
  EXPECT_TRUE(Refused(device.memory().Unmap(kFirst, old.base, MiB(2)), kUnmap));
  ASSERT_TRUE(device.SynchronizeDevice(kFirst).ok());
  EXPECT_TRUE(device.memory().Unmap(kFirst, old.base, MiB(2)).ok());
}

TEST(FakeDeviceTest, AChunkCanBeStitchedElsewhereWhileItsOldPlaceIsInUse) {
  FakeDevice device;
  DeviceMemory& memory = device.memory();
  const AddressRange range = memory.ReserveAddress(kFirst, MiB(16), Bytes(0)).value();
  const ChunkId chunk = memory.CreateChunk(kFirst, MiB(2), {}).value();
  ASSERT_TRUE(memory.Map(kFirst, range.base, chunk).ok());
  ASSERT_TRUE(memory.SetAccess(kFirst, range.base, MiB(2)).ok());
  const StreamId stream = device.CreateStream(kFirst).value();
  ASSERT_TRUE(device.Fill(kFirst, stream, range.base, 0, MiB(2)).ok());
  const Address second = range.base + Mebibytes(8);
  EXPECT_TRUE(memory.Map(kFirst, second, chunk).ok());
  EXPECT_TRUE(Refused(memory.Unmap(kFirst, range.base, MiB(2)), kUnmap));
  EXPECT_TRUE(memory.Unmap(kFirst, second, MiB(2)).ok());
}

TEST(FakeDeviceTest, R77_TheLogTellsTheOrderOfReleaseToTheEnd) {
  const auto log = std::make_shared<FakeCallLog>();
  {
    FakeDevice device({.log = log});
    const AddressRange range = MapOne(device);
    const StreamId stream = device.CreateStream(kFirst).value();
    ASSERT_TRUE(device.Fill(kFirst, stream, range.base, 0, MiB(2)).ok());
    EXPECT_FALSE(device.memory().Unmap(kFirst, range.base, MiB(2)).ok());
    ASSERT_TRUE(device.SynchronizeStream(kFirst, stream).ok());
    ASSERT_TRUE(device.memory().Unmap(kFirst, range.base, MiB(2)).ok());
  }
  ASSERT_GE(log->calls.size(), 4u);
  const FakeCall* last = &log->calls.back();
  EXPECT_FALSE(last->call.has_value());
  EXPECT_EQ(last[-1].call, kUnmap);
  EXPECT_TRUE(last[-1].ok);
  EXPECT_EQ(last[-1].size, MiB(2));
  EXPECT_EQ(last[-2].call, kSynchronizeStream);
  EXPECT_EQ(last[-3].call, kUnmap);
  EXPECT_FALSE(last[-3].ok);
  ASSERT_TRUE(log->at_destruction.has_value());
  EXPECT_EQ(*log->at_destruction, (FakeOutstanding{.ranges = 1, .chunks = 1, .streams = 1}));
}

}  // namespace fake_device_test
}  // namespace plimsoll::device
