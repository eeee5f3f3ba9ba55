#pragma once

#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Keeps a device bound to the calling thread for as long as it lives.
//
//   PLIMSOLL_ASSIGN(const ThreadBinding bound, ThreadBinding::Bind(device, id));
//
// It ends on the thread that made it, and bindings of a thread end in the reverse order of their
// making. The device must outlive it. Costs one device call at each end.
class ThreadBinding {
 public:
  static Result<ThreadBinding> Bind(Device& device, DeviceId id);
  ThreadBinding(ThreadBinding&& other) noexcept;
  ThreadBinding& operator=(ThreadBinding&&) = delete;
  ~ThreadBinding();

 private:
  ThreadBinding(Device& device, DeviceId id) : device_(&device), id_(id) {}

  Device* device_;  // null: moved from
  DeviceId id_;
};

}  // namespace plimsoll::device
