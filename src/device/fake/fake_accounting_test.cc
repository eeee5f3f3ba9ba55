// What a fake device counts, logs and gives back: others are judged by these figures.
#include <string>
#include <vector>

#include "device/conformance_fixture.h"

namespace plimsoll::device {
namespace fake_accounting_test {

using enum DeviceCall;

uint64_t Mebibytes(int64_t count) { return static_cast<uint64_t>(MiB(count).value()); }

TEST(FakeAccountingTest, PoolPagesOfARefusedChunkAreFreeAgain) {
  FakeDevice device({.capacity = GiB(2) + MiB(6), .pages_1g = 3, .pages_2m = 4});
  DeviceMemory& memory = device.memory();
  const ChunkOptions giant{.pages = PagePolicy::kHuge1G};
  const ChunkOptions huge{.pages = PagePolicy::kHuge2M};
  EXPECT_TRUE(Refused(memory.CreateChunk(kFirst, GiB(3), giant).status(), kCreateChunk,
                      ErrorKind::kDoesNotFit));  // the pool has it, the device has not
  const auto both = memory.CreateChunk(kFirst, GiB(2), giant);
  ASSERT_TRUE(both.ok());
  EXPECT_TRUE(Refused(memory.CreateChunk(kFirst, MiB(8), huge).status(), kCreateChunk,
                      ErrorKind::kDoesNotFit));
  ASSERT_TRUE(memory.CreateChunk(kFirst, MiB(6), huge).ok());
  ASSERT_TRUE(memory.DestroyChunk(kFirst, *both).ok());
  EXPECT_TRUE(memory.CreateChunk(kFirst, GiB(2), giant).ok());
}

TEST(FakeAccountingTest, PagesOfTheTwoPoolsAndOfOtherDevicesAreKeptApart) {
  FakeDevice device({.devices = 2, .pages_1g = 1, .pages_2m = 2});
  DeviceMemory& memory = device.memory();
  const ChunkOptions giant{.pages = PagePolicy::kHuge1G};
  const ChunkOptions huge{.pages = PagePolicy::kHuge2M};
  const auto first = memory.CreateChunk(kFirst, GiB(1), giant);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(memory.CreateChunk(kFirst, GiB(1), giant).ok());
  EXPECT_TRUE(memory.CreateChunk(kSecond, GiB(1), giant).ok());
  const auto pair = memory.CreateChunk(kFirst, MiB(4), huge);
  ASSERT_TRUE(pair.ok());
  EXPECT_FALSE(memory.CreateChunk(kFirst, MiB(2), huge).ok());
  ASSERT_TRUE(memory.DestroyChunk(kFirst, *pair).ok());
  EXPECT_TRUE(memory.CreateChunk(kFirst, MiB(4), huge).ok());
  EXPECT_FALSE(memory.CreateChunk(kFirst, GiB(1), giant).ok());
  EXPECT_TRUE(Refused(memory.CreateChunk(kFirst, MiB(4), giant).status(), kCreateChunk,
                      ErrorKind::kDoesNotFit));  // no whole page
}

TEST(FakeAccountingTest, APlainBlockWithoutAddressesLeavesTheCapacityWhole) {
  const Bytes addresses = GiB(16 * 1024);
  FakeDevice device({.capacity = addresses * 2});
  DeviceMemory& memory = device.memory();
  const AddressRange most = memory.ReserveAddress(kFirst, addresses - MiB(4), Bytes(0)).value();
  EXPECT_TRUE(Refused(memory.AllocatePlain(kFirst, MiB(6), MemoryType::kDevice).status(),
                      kAllocatePlain, ErrorKind::kDoesNotFit));
  EXPECT_EQ(memory.Info(kFirst)->free, addresses * 2);
  EXPECT_EQ(device.statistics().physical, Bytes(0));
  EXPECT_TRUE(memory.AllocatePlain(kFirst, MiB(4), MemoryType::kDevice).ok());
  ASSERT_TRUE(memory.ReleaseAddress(kFirst, most).ok());
  EXPECT_TRUE(memory.AllocatePlain(kFirst, MiB(6), MemoryType::kDevice).ok());
}

TEST(FakeAccountingTest, PhysicalMemoryIsCountedByDeviceAndInAll) {
  FakeDevice device({.devices = 2, .capacity = MiB(64)});
  DeviceMemory& memory = device.memory();
  const ChunkId chunk = memory.CreateChunk(kFirst, MiB(8), {.type = MemoryType::kP2P}).value();
  const Address block = memory.AllocatePlain(kSecond, MiB(3) + Bytes(1), MemoryType::kP2P).value();
  const ChunkId host = memory.CreateChunk(kFirst, MiB(32), {.type = MemoryType::kHost}).value();
  EXPECT_EQ(memory.Info(kFirst)->free, MiB(56));
  EXPECT_EQ(memory.Info(kSecond)->free, MiB(61) - Bytes(512));
  EXPECT_EQ(device.statistics().physical, MiB(11) + Bytes(512));
  ASSERT_TRUE(memory.DestroyChunk(kFirst, host).ok());
  ASSERT_TRUE(memory.FreePlain(kSecond, block).ok());
  EXPECT_EQ(device.statistics().physical, MiB(8));
  EXPECT_EQ(device.statistics().peak_physical, MiB(11) + Bytes(512));
  EXPECT_EQ(memory.Info(kSecond)->free, MiB(64));
  device.ResetStatistics();
  EXPECT_EQ(device.statistics().physical, MiB(8));
  EXPECT_EQ(device.statistics().peak_physical, MiB(8));
  EXPECT_EQ(device.statistics().failed, 0);
  EXPECT_EQ(device.statistics().modelled_driver_us, 0);
  ASSERT_TRUE(memory.DestroyChunk(kFirst, chunk).ok());
  EXPECT_EQ(device.statistics().physical, Bytes(0));
}

TEST(FakeAccountingTest, AFreedBlockGivesAllItsAddressesBack) {
  FakeDevice device({.capacity = GiB(32 * 1024)});
  DeviceMemory& memory = device.memory();
  const Bytes all = GiB(16 * 1024);
  for (int i = 0; i < 2; ++i) {
    const auto block = memory.AllocatePlain(kFirst, all - Bytes(1), MemoryType::kDevice);
    ASSERT_TRUE(block.ok()) << i;
    ASSERT_TRUE(memory.FreePlain(kFirst, *block).ok());
    const auto range = memory.ReserveAddress(kFirst, all, Bytes(0));
    ASSERT_TRUE(range.ok()) << i;
    ASSERT_TRUE(memory.ReleaseAddress(kFirst, *range).ok());
  }
}

TEST(FakeAccountingTest, AFailedCallPaysTheFlatPriceOfItsKind) {
  FakeDevice device({.capacity = GiB(1)});
  const DriverCosts costs;
  EXPECT_FALSE(device.memory().CreateChunk(kFirst, GiB(2), {}).ok());
  EXPECT_DOUBLE_EQ(device.statistics().modelled_driver_us, costs.create_chunk.at_2_mib);
  ASSERT_TRUE(device.memory().CreateChunk(kFirst, GiB(1), {}).ok());
  EXPECT_DOUBLE_EQ(device.statistics().modelled_driver_us,
                   costs.create_chunk.at_2_mib + costs.create_chunk.at_1_gib);
}

TEST(FakeAccountingTest, FreeingPaysForTheSizeOfWhatIsFreed) {
  FakeDevice device;
  DeviceMemory& memory = device.memory();
  const DriverCosts costs;
  const ChunkId chunk = memory.CreateChunk(kFirst, GiB(1), {}).value();
  const Address block = memory.AllocatePlain(kFirst, MiB(256), MemoryType::kDevice).value();
  device.ResetStatistics();
  ASSERT_TRUE(memory.DestroyChunk(kFirst, chunk).ok());
  EXPECT_DOUBLE_EQ(device.statistics().modelled_driver_us, costs.destroy_chunk.at_1_gib);
  ASSERT_TRUE(memory.FreePlain(kFirst, block).ok());
  EXPECT_DOUBLE_EQ(device.statistics().modelled_driver_us,
                   costs.destroy_chunk.at_1_gib + costs.free_plain.at_256_mib);
}

TEST(FakeAccountingTest, TheLogTellsPlaceSizeAndStreamOfEveryCall) {
  const auto log = std::make_shared<FakeCallLog>();
  FakeDevice device({.devices = 2, .log = log});
  const World world = MakeWorld(device, kSecond);
  const StreamId added = device.CreateStream(kSecond).value();
  const EventId event = device.RecordEvent(kSecond, world.stream).value();
  const auto calls = EveryCall(device, world, MiB(2));
  struct Expected {
    Address at;
    Bytes size;
    StreamId stream;
  };
  const Address second = world.range.base + Mebibytes(2);
  const auto expected = [&](DeviceCall call) -> Expected {
    switch (call) {
      case kReleaseAddress:
        return {world.empty.base, world.empty.size, {}};
      case kCreateChunk:
      case kDestroyChunk:
        return {0, MiB(2), {}};
      case kMap:
        return {second + Mebibytes(2), MiB(2), {}};
      case kUnmap:
      case kSetAccess:
        return {second, MiB(2), {}};
      case kFreePlain:
        return {world.plain, Bytes(1000), {}};
      case kCopy:
        return {world.plain, Bytes(100), world.stream};
      case kFill:
        return {world.range.base, Bytes(100), world.stream};
      case kInfo:
      case kSetCurrent:
      case kSynchronizeDevice:
        return {};
      default:
        return {0, Bytes(0), world.stream};
    }
  };
  for (const DeviceCall call :
       {kInfo, kSetCurrent, kReleaseAddress, kCreateChunk, kSetAccess, kUnmap, kMap, kRecordEvent,
        kEventReached, kWaitEvent, kCopy, kFill, kLaunchHost, kSynchronizeStream,
        kSynchronizeDevice, kDestroyEvent, kFreePlain, kDestroyStream}) {
    ASSERT_TRUE(calls[static_cast<size_t>(call)].make(kSecond).ok()) << DeviceCallName(call);
    const FakeCall& entry = log->calls.back();
    EXPECT_EQ(entry.call, call);
    EXPECT_EQ(entry.device, kSecond);
    EXPECT_EQ(entry.at, expected(call).at) << DeviceCallName(call);
    EXPECT_EQ(entry.size, expected(call).size) << DeviceCallName(call);
    EXPECT_EQ(entry.stream, expected(call).stream) << DeviceCallName(call);
    EXPECT_TRUE(entry.ok);
  }
  ASSERT_TRUE(device.DestroyEvent(kSecond, event).ok());
  const auto range = device.memory().ReserveAddress(kSecond, MiB(4), Bytes(0));
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(log->calls.back().at, range->base);
  EXPECT_EQ(log->calls.back().size, MiB(4));
  const auto block = device.memory().AllocatePlain(kSecond, Bytes(7), MemoryType::kDevice);
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(log->calls.back().at, *block);
  EXPECT_EQ(log->calls.back().size, Bytes(7));
  EXPECT_NE(added, world.stream);
}

TEST(FakeAccountingTest, TimedEventsTellTheModelledTimeOfTheCallsBetweenThem) {
  FakeDevice device;
  const DriverCosts costs;
  const StreamId stream = device.CreateStream(kFirst).value();
  const EventId first = device.RecordTimedEvent(kFirst, stream).value();
  ASSERT_TRUE(device.memory().ReserveAddress(kFirst, MiB(2), Bytes(0)).ok());
  device.ResetStatistics();
  ASSERT_TRUE(device.memory().CreateChunk(kFirst, MiB(2), {}).ok());
  const EventId last = device.RecordTimedEvent(kFirst, stream).value();
  ASSERT_TRUE(device.memory().CreateChunk(kFirst, MiB(2), {}).ok());
  const double elapsed =
      static_cast<double>(device.ElapsedTime(kFirst, first, last).value().count()) / 1000;
  EXPECT_DOUBLE_EQ(elapsed,
                   costs.record_event + costs.reserve_address + costs.create_chunk.at_2_mib);
  EXPECT_DOUBLE_EQ(device.statistics().modelled_driver_us,
                   2 * costs.create_chunk.at_2_mib + costs.record_event);
}

TEST(FakeAccountingTest, RecordingsAndRegisteredMemoryAreOutstanding) {
  FakeDevice device;
  const World world = MakeWorld(device, kFirst);
  EXPECT_EQ(device.outstanding().registered, 1);
  EXPECT_EQ(device.outstanding().recordings, 1);
  ASSERT_TRUE(device.memory().UnregisterHost(kFirst, HostAddress(world.host->data())).ok());
  ASSERT_TRUE(device.DestroyRecording(kFirst, world.recording).ok());
  EXPECT_EQ(device.outstanding().registered, 0);
  EXPECT_EQ(device.outstanding().recordings, 0);
}

TEST(FakeAccountingTest, SynchronizingADeviceRunsItsWorkInTheOrderOfLaunching) {
  FakeDevice device({.devices = 2});
  const StreamId streams[] = {device.CreateStream(kFirst).value(),
                              device.CreateStream(kFirst).value(),
                              device.CreateStream(kFirst).value()};
  const StreamId foreign = device.CreateStream(kSecond).value();
  std::string ran;
  const char* letters = "abcdefghi";
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(
        device.LaunchHost(kFirst, streams[i * 2 % 3], [&ran, letters, i] { ran += letters[i]; })
            .ok());
  }
  ASSERT_TRUE(device.LaunchHost(kSecond, foreign, [&ran] { ran += 'x'; }).ok());
  ASSERT_TRUE(device.SynchronizeDevice(kFirst).ok());
  EXPECT_EQ(ran, "abcdefghi");
  EXPECT_EQ(device.PendingWork(foreign), 1);
}

TEST(FakeAccountingTest, TwoScriptsOfOneCallCountForThemselves) {
  FakeDevice device;
  device.Fail({.call = kInfo, .first = 2, .kind = ErrorKind::kDoesNotFit});
  device.Fail({.call = kInfo, .first = 3, .times = 2, .kind = ErrorKind::kUnsupported});
  device.Fail({.call = kSetCurrent, .kind = ErrorKind::kRunFailed});
  const auto info = [&] { return device.memory().Info(kFirst).status(); };
  EXPECT_TRUE(info().ok());
  EXPECT_TRUE(Refused(info(), kInfo, ErrorKind::kDoesNotFit));
  EXPECT_TRUE(Refused(info(), kInfo, ErrorKind::kUnsupported));
  EXPECT_TRUE(Refused(info(), kInfo, ErrorKind::kUnsupported));
  EXPECT_TRUE(info().ok());
  EXPECT_TRUE(Refused(device.SetCurrent(kFirst), kSetCurrent));
  EXPECT_EQ(device.statistics().failed, 4);
  EXPECT_EQ(device.statistics().count(kInfo), 5);
}

TEST(FakeAccountingTest, TheErrorNamesTheLowestStreamThatUsesTheMemory) {
  FakeDevice device;
  const Address block = device.memory().AllocatePlain(kFirst, MiB(2), MemoryType::kDevice).value();
  const Address other = device.memory().AllocatePlain(kFirst, MiB(2), MemoryType::kDevice).value();
  std::vector<StreamId> streams;
  for (int i = 0; i < 12; ++i) streams.push_back(device.CreateStream(kFirst).value());
  for (int i = 11; i >= 5; --i) {
    ASSERT_TRUE(
        device.EnqueueUsing(kFirst, streams[i], {{other, Bytes(1)}, {block, Bytes(1)}}).ok());
  }
  const Status refused = device.memory().FreePlain(kFirst, block);
  ASSERT_TRUE(Refused(refused, kFreePlain));
  EXPECT_NE(refused.error().why.find("stream 5 "), std::string::npos) << refused.error().why;
}

}  // namespace fake_accounting_test
}  // namespace plimsoll::device
