#pragma once

#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Accessible memory of one device with the pages that were asked for. Owns it: gives everything
// back when it dies, or earlier when Release is called, which can tell what went wrong and may be
// called again when the memory was still in use. The device must outlive it, and no work may use
// the memory any more.
class HugePageBlock {
 public:
  HugePageBlock() = default;
  HugePageBlock(HugePageBlock&& other) noexcept;
  HugePageBlock& operator=(HugePageBlock&& other) noexcept;
  ~HugePageBlock();

  Address address() const { return range_.base; }
  Bytes size() const { return range_.size; }   // whole pages: at least what was asked for
  PagePolicy pages() const { return pages_; }  // what it is made of
  Status Release();

 private:
  friend Result<HugePageBlock> AllocateWithPages(Device& device, DeviceId id, Bytes size,
                                                 PagePolicy pages);
  Device* device_ = nullptr;  // null: empty
  DeviceId id_;
  AddressRange range_;
  ChunkId chunk_;  // none: a plain block
  PagePolicy pages_ = PagePolicy::kDefault;
};

// Memory with exactly these pages, or an error: nothing else is tried, except that kDefault takes a
// plain block where the device has no virtual memory.
Result<HugePageBlock> AllocateWithPages(Device& device, DeviceId id, Bytes size, PagePolicy pages);

// Memory of variables and constants, as the option variable_use_1g_huge_page says:
//   0  the device's default pages;
//   1  1 GiB pages, or the error that keeps them away;
//   2  1 GiB pages, else 2 MiB pages (of the pool or transparent), else an error; never smaller.
// In modes 1 and 2 one line at level error tells that 1 GiB pages could not be had. Thread-safe.
Result<HugePageBlock> AllocateVariableMemory(Device& device, DeviceId id, Bytes size, int mode);

}  // namespace plimsoll::device
