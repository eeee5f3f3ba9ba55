#include "plimsoll/memory/physical_memory_allocator.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "memory/release_failure.h"
#include "plimsoll/base/text.h"

namespace plimsoll::memory {

PhysicalMemoryAllocator::PhysicalMemoryAllocator(std::shared_ptr<device::Device> device,
                                                 device::DeviceId id, PhysicalMemoryOptions options)
    : device_(std::move(device)), id_(id), options_(options) {}

PhysicalMemoryAllocator::~PhysicalMemoryAllocator() { LogReleaseFailure(Trim().status()); }

Status PhysicalMemoryAllocator::CheckLimit(Bytes size) const {
  if (reserved_ + size <= options_.limit) return Status();
  return Error{
      ErrorKind::kDoesNotFit,
      "memory.limit",
      "cannot take more device memory",
      StrCat("device ", id_.ordinal),
      StrCat(size, " more than the ", reserved_, " in use go beyond the limit of ", options_.limit),
      "raise the limit"};
}

void PhysicalMemoryAllocator::Took(Bytes size) {
  reserved_ += size;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
}

void PhysicalMemoryAllocator::Report(MemoryEvent::Kind kind, device::Address address, Bytes size) {
  if (options_.observer == nullptr) return;
  std::lock_guard lock(mutex_);
  MemoryEvent event;
  event.kind = kind;
  event.device = id_.ordinal;
  event.address = address;
  event.bytes = size;
  event.reserved = reserved_;
  options_.observer->OnMemoryEvent(event);
}

Result<ChunkId> PhysicalMemoryAllocator::Acquire(Bytes size) {
  std::lock_guard lock(mutex_);
  if (const auto cached = cache_.find(size.value()); cached != cache_.end()) {
    const ChunkId chunk = cached->second.back();
    cached->second.pop_back();
    if (cached->second.empty()) cache_.erase(cached);
    cached_ -= size;
    chunks_[chunk].references = 1;
    return chunk;
  }
  const auto create = [&]() -> Result<ChunkId> {
    PLIMSOLL_TRY(CheckLimit(size));
    return device_->memory().CreateChunk(id_, size, options_.chunks);
  };
  Result<ChunkId> chunk = create();
  if (!chunk.ok() && chunk.error().kind == ErrorKind::kDoesNotFit && cached_ > Bytes(0)) {
    PLIMSOLL_TRY(Trim().status());
    chunk = create();
  }
  if (!chunk.ok()) return chunk.error();
  chunks_[*chunk] = {size, 1};
  Took(size);
  Report(MemoryEvent::Kind::kReserve, 0, size);
  return *chunk;
}

void PhysicalMemoryAllocator::AddReference(ChunkId chunk) {
  std::lock_guard lock(mutex_);
  assert(chunks_.at(chunk).references > 0);
  ++chunks_.at(chunk).references;
}

void PhysicalMemoryAllocator::Release(ChunkId chunk) {
  std::lock_guard lock(mutex_);
  Chunk& released = chunks_.at(chunk);
  assert(released.references > 0);
  if (--released.references > 0) return;
  cache_[released.size.value()].push_back(chunk);
  cached_ += released.size;
}

Result<device::Address> PhysicalMemoryAllocator::AcquirePlain(Bytes size) {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckLimit(size));
  PLIMSOLL_ASSIGN(const device::Address address,
                  device_->memory().AllocatePlain(id_, size, options_.chunks.type));
  plain_[address] = size;
  Took(size);
  Report(MemoryEvent::Kind::kReserve, address, size);
  return address;
}

Status PhysicalMemoryAllocator::ReleasePlain(device::Address address) {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(device_->memory().FreePlain(id_, address));
  const auto block = plain_.find(address);
  assert(block != plain_.end());
  reserved_ -= block->second;
  const Bytes size = block->second;
  plain_.erase(block);
  Report(MemoryEvent::Kind::kRelease, address, size);
  return Status();
}

Result<Bytes> PhysicalMemoryAllocator::Trim() {
  std::lock_guard lock(mutex_);
  Bytes freed;
  while (!cache_.empty()) {
    const auto last = std::prev(cache_.end());
    const ChunkId chunk = last->second.back();
    const Bytes size(last->first);
    PLIMSOLL_TRY(device_->memory().DestroyChunk(id_, chunk));
    last->second.pop_back();
    if (last->second.empty()) cache_.erase(last);
    chunks_.erase(chunk);
    cached_ -= size;
    reserved_ -= size;
    freed += size;
    Report(MemoryEvent::Kind::kRelease, 0, size);
  }
  return freed;
}

bool PhysicalMemoryAllocator::reserves_addresses() const {
  std::lock_guard lock(mutex_);
  return reserves_addresses_ && !device_->memory().IsUnableToReserve(id_);
}

void PhysicalMemoryAllocator::MarkUnableToReserve() {
  std::lock_guard lock(mutex_);
  reserves_addresses_ = false;
}

Bytes PhysicalMemoryAllocator::reserved() const {
  std::lock_guard lock(mutex_);
  return reserved_;
}

Bytes PhysicalMemoryAllocator::peak_reserved() const {
  std::lock_guard lock(mutex_);
  return peak_reserved_;
}

Bytes PhysicalMemoryAllocator::cached() const {
  std::lock_guard lock(mutex_);
  return cached_;
}

Bytes PhysicalMemoryAllocator::limit() const {
  std::lock_guard lock(mutex_);
  return options_.limit;
}

void PhysicalMemoryAllocator::SetLimit(Bytes limit) {
  std::lock_guard lock(mutex_);
  options_.limit = limit;
}

void PhysicalMemoryAllocator::ResetPeak() {
  std::lock_guard lock(mutex_);
  peak_reserved_ = reserved_;
}

}  // namespace plimsoll::memory
