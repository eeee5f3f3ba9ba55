#include "plimsoll/memory/active_memory_allocator.h"

#include <utility>

#include "memory/release_failure.h"
#include "plimsoll/base/text.h"

namespace plimsoll::memory {
namespace {

Error NeedsVirtualMemory(const PhysicalMemoryAllocator& physical, std::string what) {
  return {ErrorKind::kUnsupported,
          "memory.plain",
          std::move(what),
          StrCat("device ", physical.id().ordinal),
          "the device cannot reserve addresses, so its memory is plain",
          ""};
}

}  // namespace

ActiveMemoryAllocator::ActiveMemoryAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical)
    : physical_(std::move(physical)),
      granularity_(physical_->device().memory().Granularity(physical_->id())) {}

ActiveMemoryAllocator::~ActiveMemoryAllocator() {
  for (const auto& [address, size] : blocks_) {
    LogReleaseFailure(physical_->ReleasePlain(address));
  }
}

Result<std::vector<ActiveChunk>> ActiveMemoryAllocator::Grow(const GrowRequest& request) {
  std::lock_guard lock(mutex_);
  const Bytes size = request.size.RoundUp(granularity_.value());
  PLIMSOLL_ASSIGN(const device::Address address, physical_->AcquirePlain(size));
  blocks_[address] = size;
  return std::vector<ActiveChunk>{{address, size}};
}

Result<device::Address> ActiveMemoryAllocator::Stitch(std::span<const ActiveChunk>) {
  return NeedsVirtualMemory(*physical_, "cannot stitch memory");
}

Status ActiveMemoryAllocator::Unstitch(device::Address) {
  return NeedsVirtualMemory(*physical_, "cannot unstitch memory");
}

Status ActiveMemoryAllocator::Shrink(const ActiveChunk& chunk) {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(physical_->ReleasePlain(chunk.home));
  blocks_.erase(chunk.home);
  return Status();
}

Status ActiveMemoryAllocator::Pause() {
  return NeedsVirtualMemory(*physical_, "cannot pause memory");
}

Status ActiveMemoryAllocator::Resume() { return Status(); }

}  // namespace plimsoll::memory
