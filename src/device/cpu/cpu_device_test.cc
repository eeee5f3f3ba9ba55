#include "plimsoll/device/cpu_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

#include "device/conformance_fixture.h"
#include "device/cpu/system_memory.h"

namespace plimsoll::device {
namespace cpu_device_test {

using enum DeviceCall;

uint8_t* Pointer(Address at) { return reinterpret_cast<uint8_t*>(at); }
size_t Count(Bytes size) { return static_cast<size_t>(size.value()); }

bool Holds(Address at, Bytes size, uint8_t value) {
  return std::all_of(Pointer(at), Pointer(at) + Count(size),
                     [value](uint8_t byte) { return byte == value; });
}

// Every kind of memory that a chunk can be made of by default.
struct Memory {
  std::string name;
  Bytes granularity;
  ChunkOptions options;
};

class CpuMemoryTest : public testing::TestWithParam<Memory> {
 protected:
  const Bytes unit_ = GetParam().granularity;
  CpuDevice device_{{.capacity = MiB(256), .granularity = unit_}};
  DeviceMemory& memory_ = device_.memory();
  AddressRange range_ = memory_.ReserveAddress(kFirst, unit_ * 8, Bytes(0)).value();

  ChunkId Create() { return memory_.CreateChunk(kFirst, unit_, GetParam().options).value(); }
  Address At(int64_t unit) const { return range_.base + Count(unit_ * unit); }
  void Map(int64_t unit, ChunkId chunk) {
    ASSERT_TRUE(memory_.Map(kFirst, At(unit), chunk).ok());
    ASSERT_TRUE(memory_.SetAccess(kFirst, At(unit), unit_).ok());
  }
};
INSTANTIATE_TEST_SUITE_P(
    Kinds, CpuMemoryTest,
    testing::Values(
        Memory{"FileHuge", MiB(2), {.mapped_twice = true}},
        Memory{"AnonymousHuge", MiB(2), {.mapped_twice = false}},
        Memory{"FileSmall", KiB(4), {.pages = PagePolicy::kSmall4K}},
        Memory{"AnonymousSmall", KiB(4), {.pages = PagePolicy::kSmall4K, .mapped_twice = false}}),
    [](const testing::TestParamInfo<Memory>& info) { return info.param.name; });

TEST_P(CpuMemoryTest, ANewChunkIsZeroAndWritable) {
  Map(3, Create());
  EXPECT_TRUE(Holds(At(3), unit_, 0));
  std::memset(Pointer(At(3)), 0xa5, Count(unit_));
  EXPECT_TRUE(Holds(At(3), unit_, 0xa5));
}

TEST_P(CpuMemoryTest, AChunkKeepsItsBytesWhileItIsUnmapped) {
  const ChunkId chunk = Create();
  for (int round = 0; round < 3; ++round) {
    Map(round, chunk);
    EXPECT_TRUE(Holds(At(round), unit_, static_cast<uint8_t>(round)));
    std::memset(Pointer(At(round)), round + 1, Count(unit_));
    ASSERT_TRUE(memory_.Unmap(kFirst, At(round), unit_).ok());
  }
  Map(7, chunk);
  EXPECT_TRUE(Holds(At(7), unit_, 3));
}

TEST_P(CpuMemoryTest, ARunIsUnmappedWithoutMixingItsChunks) {
  std::vector<ChunkId> chunks;
  for (int i = 0; i < 4; ++i) {
    chunks.push_back(Create());
    Map(i, chunks.back());
    std::memset(Pointer(At(i)), 10 + i, Count(unit_));
  }
  ASSERT_TRUE(memory_.Unmap(kFirst, At(0), unit_ * 4).ok());
  for (int i = 0; i < 4; ++i) Map(7 - i, chunks[static_cast<size_t>(i)]);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Holds(At(7 - i), unit_, static_cast<uint8_t>(10 + i)));
}

TEST_P(CpuMemoryTest, DestroyedBytesAreNotSeenAgain) {
  for (int round = 0; round < 3; ++round) {
    const ChunkId chunk = Create();
    Map(0, chunk);
    EXPECT_TRUE(Holds(At(0), unit_, 0)) << round;
    std::memset(Pointer(At(0)), 0xff, Count(unit_));
    ASSERT_TRUE(memory_.Unmap(kFirst, At(0), unit_).ok());
    ASSERT_TRUE(memory_.DestroyChunk(kFirst, chunk).ok());
  }
}

TEST_P(CpuMemoryTest, StreamsFillAndCopyRealBytes) {
  Map(0, Create());
  Map(1, Create());
  const StreamId stream = device_.CreateStream(kFirst).value();
  std::vector<uint8_t> host(Count(unit_), 0);
  ASSERT_TRUE(device_.Fill(kFirst, stream, At(0), 0x3c, unit_).ok());
  ASSERT_TRUE(device_.Copy(kFirst, stream, At(1), At(0), unit_).ok());
  ASSERT_TRUE(
      device_.Copy(kFirst, stream, reinterpret_cast<Address>(host.data()), At(1), unit_).ok());
  ASSERT_TRUE(device_.SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(Holds(At(1), unit_, 0x3c));
  EXPECT_TRUE(Holds(reinterpret_cast<Address>(host.data()), unit_, 0x3c));
}

TEST_P(CpuMemoryTest, ACopyWithinOneChunkMayOverlapItself) {
  Map(0, Create());
  const StreamId stream = device_.CreateStream(kFirst).value();
  for (size_t i = 0; i < 4096; ++i) Pointer(At(0))[i] = static_cast<uint8_t>(i * 7 / 3);
  std::vector<uint8_t> expected(Pointer(At(0)), Pointer(At(0)) + 4000);
  ASSERT_TRUE(device_.Copy(kFirst, stream, At(0) + 50, At(0), Bytes(4000)).ok());
  ASSERT_TRUE(device_.SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), Pointer(At(0)) + 50));
}

TEST(CpuDeviceTest, OneChunkAtTwoAddressesIsOneMemory) {
  CpuDevice device;
  DeviceMemory& memory = device.memory();
  const AddressRange range = memory.ReserveAddress(kFirst, MiB(4), Bytes(0)).value();
  const ChunkId chunk = memory.CreateChunk(kFirst, MiB(2), {}).value();
  const Address second = range.base + Count(MiB(2));
  ASSERT_TRUE(memory.Map(kFirst, range.base, chunk).ok());
  ASSERT_TRUE(memory.Map(kFirst, second, chunk).ok());
  ASSERT_TRUE(memory.SetAccess(kFirst, range.base, MiB(4)).ok());
  *Pointer(range.base + 12345) = 77;
  EXPECT_EQ(*Pointer(second + 12345), 77);
  ASSERT_TRUE(memory.Unmap(kFirst, range.base, MiB(2)).ok());
  EXPECT_EQ(*Pointer(second + 12345), 77);
}

TEST(CpuDeviceTest, MemoryLargerThanTheMachineDoesNotFit) {
  CpuDevice device;
  DeviceMemory& memory = device.memory();
  const auto info = memory.Info(kFirst);
  ASSERT_TRUE(info.ok());
  const Bytes total = info->total;
  EXPECT_LE(info->free, total);
  EXPECT_EQ(total, SystemMemory().total);
  EXPECT_TRUE(
      Refused(memory.CreateChunk(kFirst, total.RoundUp(MiB(2).value()) + MiB(2), {}).status(),
              kCreateChunk, ErrorKind::kDoesNotFit));
  EXPECT_TRUE(Refused(memory.AllocatePlain(kFirst, total + Bytes(1), MemoryType::kHost).status(),
                      kAllocatePlain, ErrorKind::kDoesNotFit));
}

TEST(CpuDeviceTest, WhatTheSystemRefusesIsAnErrorWhereTheCapacityLies) {
  CpuDevice device({.capacity = GiB(int64_t{1} << 30)});
  DeviceMemory& memory = device.memory();
  EXPECT_TRUE(Refused(memory.AllocatePlain(kFirst, GiB(1 << 20), MemoryType::kDevice).status(),
                      kAllocatePlain, ErrorKind::kDoesNotFit));
  EXPECT_TRUE(Refused(memory.CreateChunk(kFirst, GiB(1 << 20), {}).status(), kCreateChunk,
                      ErrorKind::kDoesNotFit));
  const auto info = memory.Info(kFirst);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->total, GiB(int64_t{1} << 30));
  EXPECT_LE(info->free, SystemMemory().total) << "no more than the system has";
  EXPECT_TRUE(memory.CreateChunk(kFirst, MiB(2), {}).ok());
}

TEST(CpuDeviceTest, AfterARefusalAllOfTheCapacityIsFree) {
  CpuDevice device({.capacity = GiB(1 << 20)});
  DeviceMemory& memory = device.memory();
  EXPECT_FALSE(memory.AllocatePlain(kFirst, GiB(1 << 20), MemoryType::kDevice).ok());
  EXPECT_TRUE(memory.AllocatePlain(kFirst, MiB(2), MemoryType::kDevice).ok());
  EXPECT_FALSE(memory.CreateChunk(kFirst, GiB(1 << 20) - MiB(4), {}).ok());
  EXPECT_TRUE(memory.CreateChunk(kFirst, MiB(4), {}).ok());
}

TEST(CpuDeviceTest, AWaitFromInsideWorkIsRefusedInsteadOfStandingStill) {
  CpuDevice device;
  const StreamId stream = device.CreateStream(kFirst).value();
  Status of_stream;
  Status of_device;
  Status of_event;
  const EventId event = device.RecordEvent(kFirst, stream).value();
  ASSERT_TRUE(device
                  .LaunchHost(kFirst, stream,
                              [&] {
                                of_stream = device.SynchronizeStream(kFirst, stream);
                                of_device = device.SynchronizeDevice(kFirst);
                                of_event = device.SynchronizeEvent(kFirst, event);
                              })
                  .ok());
  ASSERT_TRUE(device.SynchronizeStream(kFirst, stream).ok());
  EXPECT_TRUE(Refused(of_stream, kSynchronizeStream));
  EXPECT_TRUE(Refused(of_device, kSynchronizeDevice));
  EXPECT_TRUE(Refused(of_event, kSynchronizeEvent));
}

TEST(CpuDeviceTest, TimedEventsKeepTheTimeAtWhichTheStreamReachedThem) {
  std::atomic<int64_t> now = 1000;
  CpuDevice device({.clock = [&now] { return std::chrono::nanoseconds(now.load()); }});
  const StreamId stream = device.CreateStream(kFirst).value();
  const EventId first = device.RecordTimedEvent(kFirst, stream).value();
  ASSERT_TRUE(device.LaunchHost(kFirst, stream, [&now] { now += 77; }).ok());
  const EventId last = device.RecordTimedEvent(kFirst, stream).value();
  ASSERT_TRUE(device.SynchronizeStream(kFirst, stream).ok());
  now += 5000;
  EXPECT_EQ(device.ElapsedTime(kFirst, first, last).value(), std::chrono::nanoseconds(77));
}

TEST(CpuDeviceTest, PropertiesNameTheProcessor) {
  CpuDevice device;
  const DeviceProperties properties = device.Properties(kFirst);
  EXPECT_EQ(properties.name, ProcessorName());
  EXPECT_TRUE(properties.host_reachable);
  EXPECT_TRUE(properties.timed_events);
  EXPECT_TRUE(properties.records);
}

TEST(CpuDeviceTest, DestructionFinishesWorkAndGivesEverythingBack) {
  AddressRange range;
  bool ran = false;
  {
    CpuDevice device;
    const World world = MakeWorld(device, kFirst);
    range = world.range;
    const auto single =
        device.memory().CreateChunk(kFirst, MiB(2), {.mapped_twice = false}).value();
    const Address place = range.base + Count(MiB(4));
    ASSERT_TRUE(device.memory().Map(kFirst, place, single).ok());
    ASSERT_TRUE(device.memory().SetAccess(kFirst, place, MiB(2)).ok());
    ASSERT_TRUE(device.memory().Unmap(kFirst, place, MiB(2)).ok());
    ASSERT_TRUE(device.LaunchHost(kFirst, world.stream, [&ran] { ran = true; }).ok());
    EXPECT_TRUE(PagesAt(range.base).has_value());
  }
  EXPECT_TRUE(ran);
  EXPECT_FALSE(PagesAt(range.base).has_value());
}

}  // namespace cpu_device_test
}  // namespace plimsoll::device
