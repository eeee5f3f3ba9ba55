#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/run/task_monitor.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// Streams of a device, by number from 0. Not thread-safe: one run at a time uses them. Made when
// first needed, since streams are threads on some devices; going away waits for what was launched.
class StreamSet {
 public:
  // Where host operators have a stream of their own (ac_parallel_enable).
  static constexpr int kCore = 0;
  static constexpr int kHost = 1;

  StreamSet(std::shared_ptr<device::Device> device, device::DeviceId id);
  ~StreamSet();
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;

  // Makes streams until there are `count`. Fails where the device has no more to give; those that
  // were made stay.
  Status Grow(size_t count);
  size_t size() const { return streams_.size(); }

  device::StreamId At(int stream) const { return streams_[static_cast<size_t>(stream)]; }
  Status Launch(int stream, std::function<void()> work);
  // What is launched on `stream` from now on begins when `event` is reached.
  Status Wait(int stream, device::EventId event);
  Result<device::EventId> Record(int stream);
  void Forget(device::EventId event);
  Status Synchronize(int stream);
  // The same under the monitor's limit: fails with run.timeout while the stream goes on. Null:
  // without limit.
  Status Synchronize(int stream, TaskMonitor* monitor);

 private:
  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  std::vector<device::StreamId> streams_;
};

}  // namespace plimsoll::engine
