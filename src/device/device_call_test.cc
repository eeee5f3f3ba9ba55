#include "plimsoll/device/device_call.h"

#include <string>
#include <vector>

#include "device/conformance_fixture.h"
#include "plimsoll/device/driver_costs.h"

namespace plimsoll::device {
namespace device_call_test {

using enum DeviceCall;

struct NamedCall {
  DeviceCall call;
  std::string name;
  std::string what;
  int64_t nanoseconds;  // of a block of 2 MiB, by the price list below
};

// A list in which no two prices are the same.
DriverCosts DifferentPrices() {
  return {.allocate_plain = {1, 0, 0},
          .free_plain = {2, 0, 0},
          .create_chunk = {3, 0, 0},
          .destroy_chunk = {4, 0, 0},
          .map = {5, 0, 0},
          .unmap = {6, 0, 0},
          .set_access = {7, 0, 0},
          .register_host = {15, 0, 0},
          .unregister_host = {16, 0, 0},
          .reserve_address = 8,
          .release_address = 9,
          .synchronize = 10,
          .synchronize_event = 17,
          .record_event = 11,
          .event_reached = 12,
          .wait_event = 13,
          .destroy_event = 14};
}

std::vector<NamedCall> Calls() {
  return {{kReserveAddress, "reserve_address", "cannot reserve addresses", 8000},
          {kReleaseAddress, "release_address", "cannot release addresses", 9000},
          {kCreateChunk, "create_chunk", "cannot create physical memory", 3000},
          {kDestroyChunk, "destroy_chunk", "cannot destroy physical memory", 4000},
          {kMap, "map", "cannot map memory", 5000},
          {kUnmap, "unmap", "cannot unmap memory", 6000},
          {kSetAccess, "set_access", "cannot give access to memory", 7000},
          {kAllocatePlain, "allocate_plain", "cannot allocate memory", 1000},
          {kFreePlain, "free_plain", "cannot free memory", 2000},
          {kRegisterHost, "register_host", "cannot register host memory", 15000},
          {kUnregisterHost, "unregister_host", "cannot unregister host memory", 16000},
          {kInfo, "info", "cannot tell how much memory there is", 0},
          {kSetCurrent, "set_current", "cannot make the device current", 0},
          {kBindThread, "bind_thread", "cannot bind the device to the thread", 0},
          {kUnbindThread, "unbind_thread", "cannot unbind the device from the thread", 0},
          {kCreateStream, "create_stream", "cannot create a stream", 0},
          {kDestroyStream, "destroy_stream", "cannot destroy the stream", 0},
          {kRecordEvent, "record_event", "cannot record an event", 11000},
          {kRecordTimedEvent, "record_timed_event", "cannot record a timed event", 11000},
          {kEventReached, "event_reached", "cannot ask for the event", 12000},
          {kWaitEvent, "wait_event", "cannot make the stream wait for the event", 13000},
          {kSynchronizeEvent, "synchronize_event", "cannot wait for the event", 17000},
          {kElapsedTime, "elapsed_time", "cannot tell the time between events", 0},
          {kDestroyEvent, "destroy_event", "cannot destroy the event", 14000},
          {kCopy, "copy", "cannot copy", 0},
          {kFill, "fill", "cannot fill memory", 0},
          {kEnqueue, "enqueue", "cannot enqueue work", 0},
          {kLaunchHost, "launch_host", "cannot launch a host callback", 0},
          {kBeginRecording, "begin_recording", "cannot begin to record the stream", 0},
          {kEndRecording, "end_recording", "cannot end the recording of the stream", 0},
          {kReplayRecording, "replay_recording", "cannot replay the recording", 0},
          {kDestroyRecording, "destroy_recording", "cannot destroy the recording", 0},
          {kSynchronizeStream, "synchronize_stream", "cannot wait for the stream", 10000},
          {kSynchronizeDevice, "synchronize_device", "cannot wait for the device", 10000}};
}

TEST(DeviceCallTest, EveryCallHasItsNameItsErrorAndItsPrice) {
  const std::vector<NamedCall> calls = Calls();
  ASSERT_EQ(calls.size(), kDeviceCallCount);
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(AllDeviceCalls()[i], calls[i].call);
    EXPECT_EQ(DeviceCallName(calls[i].call), calls[i].name);
    EXPECT_EQ(DifferentPrices().Nanoseconds(calls[i].call, MiB(2)), calls[i].nanoseconds)
        << calls[i].name;
    const Error error =
        CallError(calls[i].call, kSecond, ErrorKind::kUnsupported, "a reason", "a remedy");
    EXPECT_EQ(error.Text(),
              calls[i].what + ": device 1: a reason; a remedy [device." + calls[i].name + "]");
    EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
  }
}

TEST(DeviceCallTest, ALostDeviceTellsTheFirstError) {
  const Error first = CallError(kCopy, kSecond, ErrorKind::kRunFailed, "a reason");
  const Error lost = LostError(kSecond, first);
  EXPECT_EQ(lost.kind, ErrorKind::kRunFailed);
  EXPECT_EQ(lost.code, kDeviceLost);
  EXPECT_EQ(lost.where, "device 1");
  EXPECT_NE(lost.why.find(first.Text()), std::string::npos);
  EXPECT_FALSE(lost.remedy.empty());
}

TEST(ReserveAddressIfAbleTest, OnlyADeviceThatCannotIsNotAskedAgain) {
  FakeDevice device({.devices = 64});
  DeviceMemory& memory = device.memory();
  const auto reserve = [&](int ordinal) {
    return memory.ReserveAddressIfAble(DeviceId{ordinal}, MiB(2), Bytes(0)).status();
  };
  device.Fail({.call = kReserveAddress, .kind = ErrorKind::kDoesNotFit});
  EXPECT_TRUE(Refused(reserve(0), kReserveAddress, ErrorKind::kDoesNotFit));
  EXPECT_FALSE(memory.IsUnableToReserve(kFirst));
  EXPECT_TRUE(reserve(0).ok());

  for (const int unable : {1, 63}) {
    device.Fail({.call = kReserveAddress, .kind = ErrorKind::kUnsupported});
    EXPECT_TRUE(Refused(reserve(unable), kReserveAddress, ErrorKind::kUnsupported));
    EXPECT_TRUE(memory.IsUnableToReserve(DeviceId{unable}));
    const int64_t calls = device.statistics().count(kReserveAddress);
    EXPECT_TRUE(Refused(reserve(unable), kReserveAddress, ErrorKind::kUnsupported));
    EXPECT_EQ(device.statistics().count(kReserveAddress), calls);
  }
  for (const int able : {0, 2, 31, 32, 62}) {
    EXPECT_FALSE(memory.IsUnableToReserve(DeviceId{able})) << able;
    EXPECT_TRUE(reserve(able).ok()) << able;
  }
  EXPECT_TRUE(memory.IsUnableToReserve(kSecond)) << "the second answer takes nothing back";
  EXPECT_FALSE(memory.IsUnableToReserve(DeviceId{}));
}

}  // namespace device_call_test
}  // namespace plimsoll::device
