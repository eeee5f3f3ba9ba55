#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "device/address_space.h"
#include "device/fake/fake_work.h"
#include "device/memory_table.h"
#include "device/thread_bindings.h"
#include "plimsoll/device/fake_device.h"

namespace plimsoll::device {

// Everything a fake device knows, behind one mutex. FakeCallScope holds it for the time of a call.
class FakeState {
 public:
  struct PerDevice {
    AddressSpace addresses;
    Bytes physical;
    int64_t pages_1g_free = 0;
    int64_t pages_2m_free = 0;
    bool said_unsupported = false;
    std::optional<Error> first_error = std::nullopt;  // by which it was lost
  };

  explicit FakeState(FakeOptions given);

  FakeOutstanding Outstanding() const;
  PerDevice& of(DeviceId device) { return devices[static_cast<size_t>(device.ordinal)]; }
  // Counts physical memory of a device; fails when the capacity would be exceeded.
  Status TakePhysical(DeviceCall call, DeviceId device, Bytes size, MemoryType type);
  void ReturnPhysical(DeviceId device, Bytes size, MemoryType type);

  mutable std::mutex mutex;
  const FakeOptions options;
  MemoryTable table;
  FakeWork work;
  std::vector<PerDevice> devices;
  std::vector<FakeFailure> failures;
  FakeStatistics statistics;
  int64_t driver_ns = 0;           // since the device was made
  int64_t driver_ns_at_reset = 0;  // of the statistics
  DeviceId current{0};
  ThreadBindings bindings;
};

// One call on its way through the fake: locks, counts, asks the script, and at the end charges and
// logs it. A call that did not say Succeed has failed.
class FakeCallScope {
 public:
  FakeCallScope(FakeState& state, DeviceCall call, DeviceId device, Address at = 0, Bytes size = {},
                StreamId stream = {});
  ~FakeCallScope();
  FakeCallScope(const FakeCallScope&) = delete;
  FakeCallScope& operator=(const FakeCallScope&) = delete;

  // Whether the device is lost, else the failure that the script has for this call, else whether
  // the device exists.
  Status Begin();
  Status BeginOnStream();      // and whether the stream is one of the device's
  Status BeginNotRecording();  // and is not under recording
  void Succeed() { Succeed(state_.options.costs.Nanoseconds(call_, entry.size)); }
  void Succeed(int64_t cost_ns);
  void RunAfterwards(std::vector<Work> works) { afterwards_ = std::move(works); }

  FakeCall entry;

 private:
  FakeState& state_;
  const DeviceCall call_;
  std::unique_lock<std::mutex> lock_;
  std::vector<Work> afterwards_;  // run once the lock is open, since work may call the device
};

}  // namespace plimsoll::device
