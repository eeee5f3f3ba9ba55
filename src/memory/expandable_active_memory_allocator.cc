#include "plimsoll/memory/expandable_active_memory_allocator.h"

#include <cassert>
#include <utility>

#include "device/address_space.h"
#include "memory/pool/address_math.h"
#include "memory/pool/chunk_ladder.h"
#include "memory/release_failure.h"
#include "plimsoll/base/text.h"

namespace plimsoll::memory {
namespace {

using device::Address;

Error AddressesExhausted(Bytes size, Bytes reservation) {
  return {ErrorKind::kDoesNotFit,
          "memory.addresses_exhausted",
          "cannot map memory",
          StrCat("address range of ", reservation),
          StrCat("no ", size, " of addresses are left"),
          "reserve a larger address range"};
}

}  // namespace

Result<std::unique_ptr<ExpandableActiveMemoryAllocator>> ExpandableActiveMemoryAllocator::Create(
    std::shared_ptr<PhysicalMemoryAllocator> physical, ExpandableOptions options) {
  device::DeviceMemory& memory = physical->device().memory();
  const Bytes granularity = memory.Granularity(physical->id());
  const Bytes size = options.reservation.RoundUp(granularity.value());
  PLIMSOLL_ASSIGN(const device::AddressRange homes,
                  memory.ReserveAddressIfAble(physical->id(), size, granularity));
  auto stitched = memory.ReserveAddressIfAble(physical->id(), size, granularity);
  if (!stitched.ok()) {
    LogReleaseFailure(memory.ReleaseAddress(physical->id(), homes));
    return stitched.error();
  }
  return std::unique_ptr<ExpandableActiveMemoryAllocator>(
      new ExpandableActiveMemoryAllocator(std::move(physical), homes, *stitched));
}

ExpandableActiveMemoryAllocator::ExpandableActiveMemoryAllocator(
    std::shared_ptr<PhysicalMemoryAllocator> physical, device::AddressRange homes,
    device::AddressRange stitched)
    : physical_(std::move(physical)),
      granularity_(physical_->device().memory().Granularity(physical_->id())),
      home_range_(homes),
      stitched_range_(stitched),
      home_space_(std::make_unique<device::AddressSpace>(homes.base, homes.size)),
      stitched_space_(std::make_unique<device::AddressSpace>(stitched.base, stitched.size)) {
  const auto info = physical_->device().memory().Info(physical_->id());
  if (info.ok()) device_total_ = info->total;
}

ExpandableActiveMemoryAllocator::~ExpandableActiveMemoryAllocator() {
  const auto done = [](const Status& status) {
    LogReleaseFailure(status);
    return status.ok();
  };
  while (!stitched_.empty() && done(Unstitch(stitched_.begin()->first))) {
  }
  while (!homes_.empty() && done(Shrink({homes_.begin()->first, homes_.begin()->second.size}))) {
  }
  device::DeviceMemory& memory = physical_->device().memory();
  done(memory.ReleaseAddress(physical_->id(), stitched_range_));
  done(memory.ReleaseAddress(physical_->id(), home_range_));
}

Status ExpandableActiveMemoryAllocator::MapRun(Address at, std::span<const device::ChunkId> chunks,
                                               std::span<const Bytes> sizes) {
  device::DeviceMemory& memory = physical_->device().memory();
  Bytes mapped;
  Status status;
  for (size_t i = 0; i < chunks.size() && status.ok(); ++i) {
    status = memory.Map(physical_->id(), After(at, mapped), chunks[i]);
    if (status.ok()) mapped += sizes[i];
  }
  if (status.ok()) status = memory.SetAccess(physical_->id(), at, mapped);
  if (status.ok()) {
    physical_->Report(MemoryEvent::Kind::kMap, at, mapped);
    return status;
  }
  if (mapped > Bytes(0)) {
    LogReleaseFailure(memory.Unmap(physical_->id(), at, mapped));
  }
  return status;
}

Status ExpandableActiveMemoryAllocator::UnmapRun(Address at, Bytes size) {
  PLIMSOLL_TRY(physical_->device().memory().Unmap(physical_->id(), at, size));
  physical_->Report(MemoryEvent::Kind::kUnmap, at, size);
  return Status();
}

Result<std::vector<ActiveChunk>> ExpandableActiveMemoryAllocator::Grow(const GrowRequest& request) {
  std::lock_guard lock(mutex_);
  assert(!paused_);
  if (request.size > home_range_.size) return AddressesExhausted(request.size, home_range_.size);
  const std::vector<Bytes> sizes =
      request.single_chunk ? std::vector<Bytes>{request.size.RoundUp(granularity_.value())}
                           : ChunkLadder{granularity_, device_total_}.Sizes(request, mapped_);
  Bytes total;
  for (Bytes size : sizes) total += size;
  const auto at = home_space_->Take(total, granularity_);
  if (!at) return AddressesExhausted(total, home_range_.size);

  std::vector<device::ChunkId> chunks;
  Status status;
  for (size_t i = 0; i < sizes.size() && status.ok(); ++i) {
    Result<device::ChunkId> chunk = physical_->Acquire(sizes[i]);
    status = chunk.status();
    if (chunk.ok()) chunks.push_back(*chunk);
  }
  if (status.ok()) status = MapRun(*at, chunks, sizes);
  if (!status.ok()) {
    for (device::ChunkId chunk : chunks) physical_->Release(chunk);
    home_space_->GiveBack(*at, total);
    return status.error();
  }
  std::vector<ActiveChunk> grown;
  Address home = *at;
  for (size_t i = 0; i < sizes.size(); ++i) {
    homes_[home] = {sizes[i], chunks[i]};
    grown.push_back({home, sizes[i]});
    home = After(home, sizes[i]);
  }
  mapped_ += total;
  return grown;
}

Status ExpandableActiveMemoryAllocator::MapStitched(Address at, Run& run) {
  std::vector<device::ChunkId> chunks;
  std::vector<Bytes> sizes;
  for (Address home : run.homes) {
    chunks.push_back(homes_.at(home).chunk);
    sizes.push_back(homes_.at(home).size);
  }
  PLIMSOLL_TRY(MapRun(at, chunks, sizes));
  for (device::ChunkId chunk : chunks) physical_->AddReference(chunk);
  run.chunks = std::move(chunks);
  return Status();
}

Status ExpandableActiveMemoryAllocator::UnmapStitched(Address at, Run& run) {
  if (run.chunks.empty()) return Status();
  PLIMSOLL_TRY(UnmapRun(at, run.size));
  for (device::ChunkId chunk : run.chunks) physical_->Release(chunk);
  run.chunks.clear();
  return Status();
}

Status ExpandableActiveMemoryAllocator::UnmapHome(Address at, Home& home) {
  if (!home.chunk.valid()) return Status();
  PLIMSOLL_TRY(UnmapRun(at, home.size));
  physical_->Release(home.chunk);
  home.chunk = device::ChunkId();
  return Status();
}

Result<Address> ExpandableActiveMemoryAllocator::Stitch(std::span<const ActiveChunk> chunks) {
  std::lock_guard lock(mutex_);
  assert(!paused_ && !chunks.empty());
  Run run;
  for (const ActiveChunk& chunk : chunks) {
    run.homes.push_back(chunk.home);
    run.size += chunk.size;
  }
  const auto at = stitched_space_->Take(run.size, granularity_);
  if (!at) return AddressesExhausted(run.size, stitched_range_.size);
  if (Status status = MapStitched(*at, run); !status.ok()) {
    stitched_space_->GiveBack(*at, run.size);
    return status.error();
  }
  stitched_[*at] = std::move(run);
  return *at;
}

Status ExpandableActiveMemoryAllocator::Unstitch(Address at) {
  std::lock_guard lock(mutex_);
  const auto run = stitched_.find(at);
  assert(run != stitched_.end());
  PLIMSOLL_TRY(UnmapStitched(at, run->second));
  stitched_space_->GiveBack(at, run->second.size);
  stitched_.erase(run);
  return Status();
}

Status ExpandableActiveMemoryAllocator::Shrink(const ActiveChunk& chunk) {
  std::lock_guard lock(mutex_);
  const auto home = homes_.find(chunk.home);
  assert(home != homes_.end());
  PLIMSOLL_TRY(UnmapHome(chunk.home, home->second));
  mapped_ -= home->second.size;
  home_space_->GiveBack(chunk.home, home->second.size);
  homes_.erase(home);
  return Status();
}

Status ExpandableActiveMemoryAllocator::Pause() {
  std::lock_guard lock(mutex_);
  paused_ = true;
  for (auto& [at, run] : stitched_) PLIMSOLL_TRY(UnmapStitched(at, run));
  for (auto& [at, home] : homes_) PLIMSOLL_TRY(UnmapHome(at, home));
  return physical_->Trim().status();
}

Status ExpandableActiveMemoryAllocator::Resume() {
  std::lock_guard lock(mutex_);
  for (auto& [at, home] : homes_) {
    if (home.chunk.valid()) continue;
    PLIMSOLL_ASSIGN(const device::ChunkId chunk, physical_->Acquire(home.size));
    if (Status status = MapRun(at, {&chunk, 1}, {&home.size, 1}); !status.ok()) {
      physical_->Release(chunk);
      return status;
    }
    home.chunk = chunk;
  }
  for (auto& [at, run] : stitched_) {
    if (run.chunks.empty()) PLIMSOLL_TRY(MapStitched(at, run));
  }
  paused_ = false;
  return Status();
}

Bytes ExpandableActiveMemoryAllocator::mapped() const {
  std::lock_guard lock(mutex_);
  return mapped_;
}

}  // namespace plimsoll::memory
