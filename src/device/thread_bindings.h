#pragma once

#include <cstdint>

#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Which device each thread is bound to, among the devices of one kind that share this table.
// Thread-safe: a thread sees its own bindings alone. Costs the number of the thread's bindings.
class ThreadBindings {
 public:
  ThreadBindings();
  ~ThreadBindings();  // forgets the bindings of the calling thread
  ThreadBindings(const ThreadBindings&) = delete;
  ThreadBindings& operator=(const ThreadBindings&) = delete;

  void Bind(DeviceId device);
  // Refuses a device that is not the innermost binding of the calling thread.
  Status Unbind(DeviceId device);
  // Of the calling thread, the innermost; else `otherwise`.
  DeviceId BoundOr(DeviceId otherwise) const;

 private:
  const uint64_t serial_;  // never used twice, so what other threads left behind means nobody
};

}  // namespace plimsoll::device
