#pragma once

#include <functional>
#include <memory>

#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// Two streams of a device: one for AI Core operators, one for AI CPU operators beside them. Not
// thread-safe: one run at a time uses them. Made when first needed, since streams are threads on
// some devices; going away waits for what was launched.
class StreamPair {
 public:
  static constexpr int kCore = 0;
  static constexpr int kHost = 1;

  // Fails where the device has no streams to give; then it holds none.
  static Result<std::unique_ptr<StreamPair>> Make(std::shared_ptr<device::Device> device,
                                                  device::DeviceId id);
  ~StreamPair();
  StreamPair(const StreamPair&) = delete;
  StreamPair& operator=(const StreamPair&) = delete;

  Status Launch(int stream, std::function<void()> work);
  // What is launched on `stream` from now on begins when `event` is reached.
  Status Wait(int stream, device::EventId event);
  Result<device::EventId> Record(int stream);
  void Forget(device::EventId event);
  Status Synchronize(int stream);

 private:
  StreamPair(std::shared_ptr<device::Device> device, device::DeviceId id);

  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  device::StreamId streams_[2];
};

}  // namespace plimsoll::engine
