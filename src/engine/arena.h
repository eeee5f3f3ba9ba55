#pragma once

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::engine {

// Plain device memory that plans run in: one block, as large as the largest plan so far. What it
// holds does not outlast Ensure. Not thread-safe. The device must outlive it.
class Arena {
 public:
  Arena(device::Device& device, device::DeviceId id) : device_(device), id_(id) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Makes the arena at least so large; nothing may be running in it. On failure
  // (memory.out_of_memory) it is empty.
  Status Ensure(Bytes size);
  std::byte* base() const { return reinterpret_cast<std::byte*>(base_); }
  Bytes size() const { return size_; }

 private:
  void Release();

  device::Device& device_;
  device::DeviceId id_;
  device::Address base_ = 0;
  Bytes size_;
};

}  // namespace plimsoll::engine
