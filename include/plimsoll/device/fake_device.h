#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"
#include "plimsoll/device/driver_costs.h"

namespace plimsoll::device {

// What a fake device has handed out and not got back. All zero: nothing leaks.
struct FakeOutstanding {
  int64_t ranges = 0;
  int64_t chunks = 0;
  int64_t mappings = 0;
  int64_t plain_blocks = 0;
  int64_t streams = 0;
  int64_t events = 0;
  int64_t registered = 0;  // pieces of host memory
  int64_t recordings = 0;
  auto operator<=>(const FakeOutstanding&) const = default;
};

// One call as the fake device saw it. `call` is empty for the destruction of the device itself.
struct FakeCall {
  std::optional<DeviceCall> call;
  DeviceId device;
  Address at = 0;   // where the call names or returns an address
  Bytes size;       // where it has one
  StreamId stream;  // where it names or returns one
  bool ok = true;
};

// The calls of a fake device in order. Shared with the test, so that it outlives the device and
// tells what was still outstanding when the device was destroyed. Read it while no call is under
// way.
struct FakeCallLog {
  std::vector<FakeCall> calls;
  std::optional<FakeOutstanding> at_destruction;
};

// A failure to come: of the calls of this kind (any kind when empty) from now on, `first` of them
// being the next, `times` in a row fail with an error of this kind and do nothing. The first of
// them can end its device, so that every call from then on answers device.lost.
struct FakeFailure {
  static constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
  std::optional<DeviceCall> call = std::nullopt;
  int64_t first = 1;
  int64_t times = 1;
  ErrorKind kind = ErrorKind::kRunFailed;
  bool loses_device = false;
};

// What the device that is played is like.
struct FakeOptions {
  std::string kind = "fake";       // what Kind says: it stands for a device of that kind
  int devices = 1;                 // 1 to 64
  Bytes capacity = GiB(80);        // of each device; host memory does not count
  Bytes granularity = MiB(2);      // a power of two
  bool reserves_addresses = true;  // false: ReserveAddress answers kUnsupported
  bool host_reachable = false;     // what Properties say: it stands for a device like that
  int64_t pages_1g = 0;            // of each device, for PagePolicy::kHuge1G
  int64_t pages_2m = 0;            // of each device, for PagePolicy::kHuge2M
  bool transparent_pages = true;   // whether PagePolicy::kTransparent2M can be had
  bool timed_events = true;        // false: the calls about them answer kUnsupported
  bool records = true;             // likewise about recordings
  bool queries_complete = false;   // true: asking for an event completes the work before it
  DriverCosts costs = {};
  std::shared_ptr<FakeCallLog> log = nullptr;  // null: no call is logged
};

// What was asked of it so far.
struct FakeStatistics {
  std::array<int64_t, kDeviceCallCount> calls{};  // by DeviceCall, failed ones included
  int64_t failed = 0;
  Bytes physical;       // chunks and plain blocks on all devices now, host memory excluded
  Bytes peak_physical;  // the most there ever were
  double modelled_driver_us = 0;

  int64_t count(DeviceCall call) const { return calls[static_cast<size_t>(call)]; }
  int64_t total() const;
};

class FakeMemory;
class FakeState;

// Devices made of numbers: no byte exists, every rule of the seam does. What CUDA would do
// undefined, the fake fails:
//  - unmapping or freeing memory that pending work uses (enqueued work and host callbacks use all
//    memory of their device, EnqueueUsing what it names), and destroying a stream with pending
//    work;
//  - touching memory that is not mapped with access.
// Work stays pending until its stream or device or an event behind it is synchronised, CompleteWork
// says so, or, with `queries_complete`, an event behind it is asked for; then it runs on that
// caller's thread. The time of a timed event is the driver time that the calls before it cost by
// the price list.
//
//   FakeDevice device({.capacity = GiB(1)});
//   device.Fail({.call = DeviceCall::kMap, .first = 3});   // the third Map from now
//   ...
//   EXPECT_EQ(device.outstanding(), FakeOutstanding{});
//
// Thread-safe. A call costs a mutex, a look-up and no system call. Addresses lie above 2^48, where
// no host pointer does, and each device has 16 TiB of them to itself.
class FakeDevice : public Device {
 public:
  explicit FakeDevice(FakeOptions options = {});
  ~FakeDevice() override;

  // An Enqueue that tells which memory it uses, as a kernel with known arguments does.
  Status EnqueueUsing(DeviceId device, StreamId stream, std::vector<AddressRange> uses,
                      std::function<void()> work = nullptr);

  // Test control. None of these counts as a call.
  void Fail(const FakeFailure& failure);
  void ClearFailures();
  // Ends a device as an error of the hardware does. Pending work is never done.
  void Lose(DeviceId device, const Error& first_error);
  // Completes the next `items` of a stream (copies, fills, work, waits) and what they wait for.
  void CompleteWork(StreamId stream, int64_t items);
  int64_t PendingWork(StreamId stream) const;
  FakeOutstanding outstanding() const;
  FakeStatistics statistics() const;
  void ResetStatistics();  // the counters and the modelled time; the peak restarts from now

  std::string Kind() const override;
  int Count() const override;
  DeviceMemory& memory() override;
  DeviceProperties Properties(DeviceId device) const override;
  DeviceId Current() const override;
  Status SetCurrent(DeviceId device) override;
  Status BindThread(DeviceId device) override;
  Status UnbindThread(DeviceId device) override;
  Result<StreamId> CreateStream(DeviceId device) override;
  Status DestroyStream(DeviceId device, StreamId stream) override;
  Result<EventId> RecordEvent(DeviceId device, StreamId stream) override;
  Result<EventId> RecordTimedEvent(DeviceId device, StreamId stream) override;
  Result<bool> EventReached(DeviceId device, EventId event) override;
  Status WaitEvent(DeviceId device, StreamId stream, EventId event) override;
  Status SynchronizeEvent(DeviceId device, EventId event) override;
  Result<std::chrono::nanoseconds> ElapsedTime(DeviceId device, EventId from, EventId to) override;
  Status DestroyEvent(DeviceId device, EventId event) override;
  Status Copy(DeviceId device, StreamId stream, Address to, Address from, Bytes size) override;
  Status Fill(DeviceId device, StreamId stream, Address at, uint8_t value, Bytes size) override;
  Status Enqueue(DeviceId device, StreamId stream, StreamWork work) override;
  Status LaunchHost(DeviceId device, StreamId stream, std::function<void()> work) override;
  Status BeginRecording(DeviceId device, StreamId stream) override;
  Result<RecordingId> EndRecording(DeviceId device, StreamId stream) override;
  Status ReplayRecording(DeviceId device, StreamId stream, RecordingId recording) override;
  Status DestroyRecording(DeviceId device, RecordingId recording) override;
  Status SynchronizeStream(DeviceId device, StreamId stream) override;
  Status SynchronizeDevice(DeviceId device) override;

 private:
  std::unique_ptr<FakeState> state_;
  std::unique_ptr<FakeMemory> memory_;
};

}  // namespace plimsoll::device
