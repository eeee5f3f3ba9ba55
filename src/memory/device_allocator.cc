#include "plimsoll/memory/device_allocator.h"

#include <cassert>
#include <utility>

#include "memory/release_failure.h"
#include "plimsoll/base/log.h"
#include "plimsoll/memory/active_memory_allocator.h"

namespace plimsoll::memory {
namespace {

std::unique_ptr<ActiveMemory> Activate(const std::shared_ptr<PhysicalMemoryAllocator>& physical,
                                       const ExpandableOptions& options) {
  if (physical->reserves_addresses()) {
    auto expandable = ExpandableActiveMemoryAllocator::Create(physical, options);
    if (expandable.ok()) return std::move(*expandable);
    physical->MarkUnableToReserve();
    Log(LogLevel::kInfo, expandable.error().Text());
  }
  return std::make_unique<ActiveMemoryAllocator>(physical);
}

}  // namespace

DeviceAllocator::DeviceAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical,
                                 device::StreamId stream, ExpandableOptions options)
    : physical_(std::move(physical)), stream_(stream), active_(Activate(physical_, options)) {}

DeviceAllocator::~DeviceAllocator() { LogReleaseFailure(Synchronize()); }

Status DeviceAllocator::Synchronize() {
  if (!stream_.valid()) return physical_->device().SynchronizeDevice(physical_->id());
  return physical_->device().SynchronizeStream(physical_->id(), stream_);
}

Result<std::vector<ActiveChunk>> DeviceAllocator::Grow(const GrowRequest& request) {
  return active_->Grow(request);
}

Result<device::Address> DeviceAllocator::Stitch(std::span<const ActiveChunk> chunks) {
  return active_->Stitch(chunks);
}

Result<device::EventId> DeviceAllocator::Mark() {
  assert(stream_.valid());
  return physical_->device().RecordEvent(physical_->id(), stream_);
}

Result<bool> DeviceAllocator::Passed(device::EventId mark) {
  PLIMSOLL_ASSIGN(const bool passed, physical_->device().EventReached(physical_->id(), mark));
  if (passed) PLIMSOLL_TRY(Forget(mark));
  return passed;
}

Status DeviceAllocator::Forget(device::EventId mark) {
  return physical_->device().DestroyEvent(physical_->id(), mark);
}

Status DeviceAllocator::Release(std::vector<device::Address>& stitched,
                                std::vector<ActiveChunk>& chunks, bool finished) {
  if (stitched.empty() && chunks.empty()) return Status();
  if (!finished) PLIMSOLL_TRY(Synchronize());
  for (; !stitched.empty(); stitched.pop_back()) PLIMSOLL_TRY(active_->Unstitch(stitched.back()));
  for (; !chunks.empty(); chunks.pop_back()) PLIMSOLL_TRY(active_->Shrink(chunks.back()));
  return Status();
}

Status DeviceAllocator::Pause() {
  PLIMSOLL_TRY(Synchronize());
  return active_->Pause();
}

Status DeviceAllocator::Resume() { return active_->Resume(); }

}  // namespace plimsoll::memory
