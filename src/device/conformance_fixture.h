#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/standin_for_tests.h"
#include "plimsoll/device/cpu_device.h"
#include "plimsoll/device/cuda_device.h"
#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"
#include "plimsoll/device/fake_device.h"
#include "plimsoll/device/far_device.h"

namespace plimsoll::device {

inline constexpr DeviceId kFirst{0};
inline constexpr DeviceId kSecond{1};
inline constexpr DeviceId kNoDevice{2};
inline constexpr Bytes kCapacity = MiB(64);
inline constexpr Bytes kLargest(std::numeric_limits<int64_t>::max());

// A backend under the conformance suite. To put another one under it, add a row to AllBackends.
struct Backend {
  std::string name;
  std::function<std::unique_ptr<Device>(bool reserves_addresses)> make;  // two devices, kCapacity
  bool one_card = false;  // the two are one card, so that waiting for one waits for both
};

inline std::vector<Backend> AllBackends() {
  const auto options = [](Bytes granularity, bool reserves_addresses) {
    return CpuOptions{.devices = 2,
                      .capacity = kCapacity,
                      .granularity = granularity,
                      .reserves_addresses = reserves_addresses};
  };
  const auto cpu = [options](Bytes granularity) {
    return [=](bool reserves_addresses) -> std::unique_ptr<Device> {
      return std::make_unique<CpuDevice>(options(granularity, reserves_addresses));
    };
  };
  const auto far = [options](bool reserves_addresses) -> std::unique_ptr<Device> {
    return std::make_unique<FarDevice>(options(KiB(4), reserves_addresses));
  };
  const auto fake = [](bool able) {
    return [able](bool reserves_addresses) -> std::unique_ptr<Device> {
      FakeOptions options;
      options.devices = 2;
      options.capacity = kCapacity;
      options.reserves_addresses = reserves_addresses;
      options.host_reachable = able;
      options.timed_events = able;
      options.records = able;
      return std::make_unique<FakeDevice>(options);
    };
  };
  const auto cuda = [](bool reserves_addresses) -> std::unique_ptr<Device> {
    return CudaDeviceForTests(
        {.capacity = kCapacity, .devices = 2, .reserves_addresses = reserves_addresses});
  };
  return {
      {"Cpu", cpu(MiB(2))}, {"CpuSmallPages", cpu(KiB(4))},        {"Cuda", cuda, TestsUseACard()},
      {"Fake", fake(true)}, {"FakeWithoutAbilities", fake(false)}, {"Far", far}};
}

// Those whose devices are like this: tests of an ability ask the properties, never the kind.
inline std::vector<Backend> BackendsThat(bool (*can)(const DeviceProperties&)) {
  std::vector<Backend> able;
  for (const Backend& backend : AllBackends()) {
    if (can(backend.make(true)->Properties(kFirst))) able.push_back(backend);
  }
  return able;
}

inline std::string BackendName(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

// Work that stands still until it is opened, so that what is behind it in its stream is pending.
class Gate {
 public:
  std::function<void()> Work() const {
    return [opened = opened_] { opened.wait(); };
  }
  void Open() { promise_.set_value(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> opened_ = promise_.get_future().share();
};

// Two devices of one backend, and the shortest ways to things that most tests need.
class DeviceConformance : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Device> device_ = GetParam().make(true);
  DeviceMemory& memory_ = device_->memory();
  const Bytes unit_ = memory_.Granularity(kFirst);
  const DeviceProperties properties_ = device_->Properties(kFirst);

  uint64_t Units(int64_t count) const { return static_cast<uint64_t>((unit_ * count).value()); }

  AddressRange Reserve(int64_t units, DeviceId id = kFirst) {
    auto range = memory_.ReserveAddress(id, unit_ * units, Bytes(0));
    EXPECT_TRUE(range.ok());
    return range.ok() ? *range : AddressRange{};
  }
  ChunkId Create(int64_t units = 1, DeviceId id = kFirst) {
    auto chunk = memory_.CreateChunk(id, unit_ * units, {});
    EXPECT_TRUE(chunk.ok());
    return chunk.ok() ? *chunk : ChunkId();
  }
  // A range with chunks of one unit mapped from its start, accessible.
  AddressRange Mapped(int64_t units, DeviceId id = kFirst) {
    const AddressRange range = Reserve(units, id);
    for (int64_t i = 0; i < units; ++i) {
      EXPECT_TRUE(memory_.Map(id, range.base + Units(i), Create(1, id)).ok());
    }
    EXPECT_TRUE(memory_.SetAccess(id, range.base, range.size).ok());
    return range;
  }
  StreamId Stream(DeviceId id = kFirst) {
    auto stream = device_->CreateStream(id);
    EXPECT_TRUE(stream.ok());
    return stream.ok() ? *stream : StreamId();
  }
  Address Plain(Bytes size, DeviceId id = kFirst) {
    auto block = memory_.AllocatePlain(id, size, MemoryType::kDevice);
    EXPECT_TRUE(block.ok());
    return block.ok() ? *block : Address{0};
  }
  Bytes Free(DeviceId id) {
    const auto info = memory_.Info(id);
    EXPECT_TRUE(info.ok());
    return info.ok() ? info->free : Bytes(-1);
  }
};

// Whether a call was refused with its own code and this kind, and text that a person can use.
inline testing::AssertionResult Refused(const Status& status, DeviceCall call,
                                        ErrorKind kind = ErrorKind::kRunFailed) {
  if (status.ok()) return testing::AssertionFailure() << DeviceCallName(call) << " succeeded";
  const Error& error = status.error();
  if (error.code != "device." + std::string(DeviceCallName(call)) || error.kind != kind ||
      error.what.empty() || error.where.empty() || error.why.empty()) {
    return testing::AssertionFailure()
           << "kind " << static_cast<int>(error.kind) << ": " << error.Text();
  }
  return testing::AssertionSuccess();
}

// Whether a device that is like this can do what the call asks for.
inline bool IsAbleTo(const DeviceProperties& properties, DeviceCall call) {
  switch (call) {
    case DeviceCall::kReserveAddress:
      return properties.reserves_addresses;
    case DeviceCall::kRecordTimedEvent:
    case DeviceCall::kElapsedTime:
      return properties.timed_events;
    case DeviceCall::kBeginRecording:
    case DeviceCall::kEndRecording:
    case DeviceCall::kReplayRecording:
    case DeviceCall::kDestroyRecording:
      return properties.records;
    default:
      return true;
  }
}

// Whether an illegal call was refused; a device without the ability may say that instead.
inline testing::AssertionResult RefusedOrUnable(const DeviceProperties& properties,
                                                const Status& status, DeviceCall call) {
  const bool unable = !status.ok() && status.error().kind == ErrorKind::kUnsupported;
  return Refused(
      status, call,
      unable && !IsAbleTo(properties, call) ? ErrorKind::kUnsupported : ErrorKind::kRunFailed);
}

inline Address HostAddress(const void* at) { return reinterpret_cast<Address>(at); }

// One of everything on a device, so that every call has something to be about. The device is bound
// to the calling thread.
struct World {
  AddressRange range;  // of four units; the first mapped and accessible, the second mapped
  AddressRange empty;
  ChunkId idle_chunk;
  Address plain = 0;
  StreamId stream;
  EventId event;
  EventId timed_event;
  StreamId stream_under_recording;
  RecordingId recording;
  std::shared_ptr<std::vector<char>> host =
      std::make_shared<std::vector<char>>(200);  // the first half is registered
};

inline World MakeWorld(Device& device, DeviceId id) {
  DeviceMemory& memory = device.memory();
  const Bytes unit = memory.Granularity(id);
  World world;
  world.range = memory.ReserveAddress(id, unit * 4, Bytes(0)).value();
  world.empty = memory.ReserveAddress(id, unit, Bytes(0)).value();
  const ChunkId first = memory.CreateChunk(id, unit, {}).value();
  const ChunkId second = memory.CreateChunk(id, unit, {}).value();
  world.idle_chunk = memory.CreateChunk(id, unit, {}).value();
  EXPECT_TRUE(memory.Map(id, world.range.base, first).ok());
  EXPECT_TRUE(memory.Map(id, world.range.base + static_cast<uint64_t>(unit.value()), second).ok());
  EXPECT_TRUE(memory.SetAccess(id, world.range.base, unit).ok());
  world.plain = memory.AllocatePlain(id, Bytes(1000), MemoryType::kDevice).value();
  world.stream = device.CreateStream(id).value();
  world.event = device.RecordEvent(id, world.stream).value();
  EXPECT_TRUE(memory.RegisterHost(id, HostAddress(world.host->data()), Bytes(100)).ok());
  EXPECT_TRUE(device.BindThread(id).ok());
  world.stream_under_recording = device.CreateStream(id).value();
  const DeviceProperties properties = device.Properties(id);
  if (properties.timed_events) {
    world.timed_event = device.RecordTimedEvent(id, world.stream).value();
    EXPECT_TRUE(device.SynchronizeStream(id, world.stream).ok());
  }
  if (properties.records) {
    const StreamId stream = world.stream_under_recording;
    EXPECT_TRUE(device.BeginRecording(id, stream).ok());
    EXPECT_TRUE(device.Fill(id, stream, world.range.base, 1, Bytes(100)).ok());
    world.recording = device.EndRecording(id, stream).value();
    EXPECT_TRUE(device.BeginRecording(id, stream).ok());
  }
  return world;
}

struct PreparedCall {
  DeviceCall call;
  std::function<Status(DeviceId)> make;
};

// Each call of the seam once, legal for the device of the world.
inline std::vector<PreparedCall> EveryCall(Device& device, const World& world, Bytes unit) {
  DeviceMemory& memory = device.memory();
  const Address second = world.range.base + static_cast<uint64_t>(unit.value());
  const Address third = second + static_cast<uint64_t>(unit.value());
  using enum DeviceCall;
  return {
      {kReserveAddress,
       [=, &memory](DeviceId id) { return memory.ReserveAddress(id, unit, Bytes(0)).status(); }},
      {kReleaseAddress,
       [=, &memory](DeviceId id) { return memory.ReleaseAddress(id, world.empty); }},
      {kCreateChunk,
       [=, &memory](DeviceId id) { return memory.CreateChunk(id, unit, {}).status(); }},
      {kDestroyChunk,
       [=, &memory](DeviceId id) { return memory.DestroyChunk(id, world.idle_chunk); }},
      {kMap, [=, &memory](DeviceId id) { return memory.Map(id, third, world.idle_chunk); }},
      {kUnmap, [=, &memory](DeviceId id) { return memory.Unmap(id, second, unit); }},
      {kSetAccess, [=, &memory](DeviceId id) { return memory.SetAccess(id, second, unit); }},
      {kAllocatePlain,
       [=, &memory](DeviceId id) {
         return memory.AllocatePlain(id, Bytes(1), MemoryType::kDevice).status();
       }},
      {kFreePlain, [=, &memory](DeviceId id) { return memory.FreePlain(id, world.plain); }},
      {kRegisterHost,
       [=, &memory](DeviceId id) {
         return memory.RegisterHost(id, HostAddress(world.host->data() + 100), Bytes(100));
       }},
      {kUnregisterHost,
       [=, &memory](DeviceId id) {
         return memory.UnregisterHost(id, HostAddress(world.host->data()));
       }},
      {kInfo, [=, &memory](DeviceId id) { return memory.Info(id).status(); }},
      {kSetCurrent, [&device](DeviceId id) { return device.SetCurrent(id); }},
      {kBindThread, [&device](DeviceId id) { return device.BindThread(id); }},
      {kUnbindThread, [&device](DeviceId id) { return device.UnbindThread(id); }},
      {kCreateStream, [&device](DeviceId id) { return device.CreateStream(id).status(); }},
      {kDestroyStream,
       [=, &device](DeviceId id) { return device.DestroyStream(id, world.stream); }},
      {kRecordEvent,
       [=, &device](DeviceId id) { return device.RecordEvent(id, world.stream).status(); }},
      {kRecordTimedEvent,
       [=, &device](DeviceId id) { return device.RecordTimedEvent(id, world.stream).status(); }},
      {kEventReached,
       [=, &device](DeviceId id) { return device.EventReached(id, world.event).status(); }},
      {kWaitEvent,
       [=, &device](DeviceId id) { return device.WaitEvent(id, world.stream, world.event); }},
      {kSynchronizeEvent,
       [=, &device](DeviceId id) { return device.SynchronizeEvent(id, world.event); }},
      {kElapsedTime,
       [=, &device](DeviceId id) {
         return device.ElapsedTime(id, world.timed_event, world.timed_event).status();
       }},
      {kDestroyEvent, [=, &device](DeviceId id) { return device.DestroyEvent(id, world.event); }},
      {kCopy,
       [=, &device](DeviceId id) {
         return device.Copy(id, world.stream, world.plain, world.range.base, Bytes(100));
       }},
      {kFill,
       [=, &device](DeviceId id) {
         return device.Fill(id, world.stream, world.range.base, 1, Bytes(100));
       }},
      {kEnqueue,
       [=, &device](DeviceId id) {
         return device.Enqueue(id, world.stream, [](const StreamContext&) {});
       }},
      {kLaunchHost,
       [=, &device](DeviceId id) { return device.LaunchHost(id, world.stream, [] {}); }},
      {kBeginRecording,
       [=, &device](DeviceId id) { return device.BeginRecording(id, world.stream); }},
      {kEndRecording,
       [=, &device](DeviceId id) {
         return device.EndRecording(id, world.stream_under_recording).status();
       }},
      {kReplayRecording,
       [=, &device](DeviceId id) {
         return device.ReplayRecording(id, world.stream, world.recording);
       }},
      {kDestroyRecording,
       [=, &device](DeviceId id) { return device.DestroyRecording(id, world.recording); }},
      {kSynchronizeStream,
       [=, &device](DeviceId id) { return device.SynchronizeStream(id, world.stream); }},
      {kSynchronizeDevice, [&device](DeviceId id) { return device.SynchronizeDevice(id); }},
  };
}

}  // namespace plimsoll::device
