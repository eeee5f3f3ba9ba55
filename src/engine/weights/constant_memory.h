#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "engine/memory/page_block.h"
#include "engine/transfer/device_side.h"
#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"
#include "plimsoll/device/huge_pages.h"

namespace plimsoll::engine {

// Where a session's constants lie once kernels read them, as variable_use_1g_huge_page says: in
// plain memory of the process, or of a device that the host cannot reach (0), or in blocks of large
// pages (1, 2), which many constants share.
// A block goes with the last constant in it. Pieces are 64-byte aligned and outlive the object.
//
// Thread-safe. A piece costs a look at each block. A block is as large as the piece that it is made
// for, or an eighth of the blocks before it, up to 32 MiB; rounded up to whole pages.
class ConstantMemory {
 public:
  ConstantMemory(std::shared_ptr<device::Device> device, device::DeviceId id,
                 config::HugePages pages)
      : side_(DeviceSide::Of(device, id)), device_(std::move(device)), id_(id), mode_(pages) {}

  // Fails with run.memory, or as device::AllocateVariableMemory does, whose errors it passes on.
  Result<std::shared_ptr<void>> Allocate(Bytes size);

  // Has `fill` write the bytes of a piece, on the host; they are moved where the host cannot reach
  // them.
  Status Fill(void* piece, Bytes size, const std::function<Status(void*)>& fill) const;

  bool large_pages() const { return mode_ != config::HugePages::kSystem; }
  // Whether constants must be copied into this memory; else they may stay where they are.
  bool copies() const { return large_pages() || !side_.host_reachable; }
  const DeviceSide& side() const { return side_; }
  // Tells memory of this kind from every other: users of equal kinds may share pieces.
  std::string Kind() const;
  Bytes reserved() const;  // in blocks of large pages

 private:
  Result<device::HugePageBlock> AllocateBlock(Bytes piece, Bytes reserved);
  Result<std::shared_ptr<void>> AllocateSystem(Bytes size) const;

  const DeviceSide side_;
  const std::shared_ptr<device::Device> device_;
  const device::DeviceId id_;
  const config::HugePages mode_;
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<PageBlock>> blocks_;
  // What the first block got; tried first from then on, so that a step down is logged once.
  std::optional<device::PagePolicy> pages_;
};

}  // namespace plimsoll::engine
