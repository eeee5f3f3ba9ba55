#include "plimsoll/memory/caching_mem_allocator.h"

#include <algorithm>
#include <utility>

#include "memory/pool/owner_table.h"
#include "memory/release_failure.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/memory/out_of_memory.h"

namespace plimsoll::memory {
namespace {

constexpr int64_t kCachingMemLargest = int64_t{1} << 46;
constexpr size_t kCachingMemReportedOwners = 5;
constexpr uint32_t kNone = BlockKey::kNone;

}  // namespace

CachingMemAllocator::CachingMemAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical,
                                         MemoryObserver* observer, Keep keep)
    : physical_(std::move(physical)),
      observer_(observer),
      keep_(keep),
      granularity_(physical_->device().memory().Granularity(physical_->id()).value()),
      owners_(std::make_unique<OwnerTable>()) {}

CachingMemAllocator::~CachingMemAllocator() {
  if (statistics_.live_blocks > 0) {
    Log(LogLevel::kWarning,
        StrCat("caching allocator destroyed with ", statistics_.live_blocks, " blocks alive"));
  }
  LogReleaseFailure(physical_->device().SynchronizeDevice(physical_->id()));
  for (const Slot& slot : slots_) {
    if (slot.size > 0) LogReleaseFailure(physical_->ReleasePlain(slot.address));
  }
}

uint32_t CachingMemAllocator::FindCached(StreamId stream, int64_t size) {
  const auto found = cache_.lower_bound({stream, size});
  if (found == cache_.end() || found->first.first != stream) return kNone;
  if (keep_ == Keep::kAll && found->first.second - size > size / 4) return kNone;
  const uint32_t index = found->second.back();
  found->second.pop_back();
  if (found->second.empty()) spare_ = cache_.extract(found);
  return index;
}

void CachingMemAllocator::Cache(uint32_t index) {
  const std::pair key(slots_[index].stream, slots_[index].size);
  if (spare_.empty() || cache_.count(key) > 0) {
    cache_[key].push_back(index);
    return;
  }
  spare_.key() = key;
  spare_.mapped().push_back(index);
  cache_.insert(std::move(spare_));
}

Result<Block> CachingMemAllocator::Allocate(const Request& request) {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckRequest(request, Bytes(granularity_)));
  if (request.size.value() > kCachingMemLargest) {
    ++statistics_.failures;
    return OutOfMemory(request.size.value(), {});
  }
  const int64_t alignment = std::max(request.alignment.value(), kBlockAlignment);
  // Plain memory is aligned as blocks are; a larger alignment costs its own size.
  const int64_t size = std::max(kBlockAlignment, request.size.RoundUp(kBlockAlignment).value()) +
                       (alignment > kBlockAlignment ? alignment : 0);
  uint32_t index = FindCached(request.stream, size);
  if (index == kNone) {
    ++statistics_.slow_paths;
    const Status made_room =
        keep_ == Keep::kUntilLarger ? ReleaseSmaller(request.stream, size) : Status();
    Result<Address> address = made_room.ok() ? AllocateWithTryRecycle(size) : made_room;
    if (!address.ok()) {
      ++statistics_.failures;
      return address.error();
    }
    if (unused_.empty()) {
      unused_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    index = unused_.back();
    unused_.pop_back();
    slots_[index].address = *address;
    slots_[index].size = size;
  }
  Slot& slot = slots_[index];
  slot.requested = request.size.value();
  slot.stream = request.stream;
  slot.owner = owners_->Find(request.tag);
  owners_->Took(slot.owner, slot.requested);
  slot.live = true;
  slot.crossed = false;
  statistics_.allocated += request.size;
  statistics_.peak_allocated = std::max(statistics_.peak_allocated, statistics_.allocated);
  ++statistics_.allocations;
  ++statistics_.live_blocks;
  Report(MemoryEvent::Kind::kAllocate, slot);
  const auto mask = static_cast<uint64_t>(alignment) - 1;
  return Block{(slot.address + mask) & ~mask, request.size, {index, slot.generation}};
}

Result<Address> CachingMemAllocator::AllocateWithTryRecycle(int64_t size) {
  Result<Address> address = physical_->AcquirePlain(Bytes(size));
  if (address.ok() || address.error().kind != ErrorKind::kDoesNotFit) return address;
  PLIMSOLL_TRY(Recycle().status());
  address = physical_->AcquirePlain(Bytes(size));
  if (address.ok() || address.error().kind != ErrorKind::kDoesNotFit) return address;
  return OutOfMemory(size, address.error());
}

Result<Bytes> CachingMemAllocator::Recycle() {
  if (cache_.empty() && crossed_.empty()) return Bytes(0);
  PLIMSOLL_TRY(physical_->device().SynchronizeDevice(physical_->id()));
  for (uint32_t index : crossed_) Cache(index);
  crossed_.clear();
  const Bytes before = physical_->reserved();
  while (!cache_.empty()) PLIMSOLL_TRY(ReleaseFirst(cache_.begin()));
  return before - physical_->reserved();
}

Status CachingMemAllocator::ReleaseFirst(IdleBlocks::iterator cached) {
  const uint32_t index = cached->second.back();
  PLIMSOLL_TRY(physical_->ReleasePlain(slots_[index].address));
  cached->second.pop_back();
  if (cached->second.empty()) cache_.erase(cached);
  slots_[index].size = 0;
  unused_.push_back(index);
  return {};
}

Status CachingMemAllocator::ReleaseSmaller(StreamId stream, int64_t size) {
  auto cached = cache_.lower_bound({stream, 0});
  if (cached == cache_.end() || cached->first >= std::pair(stream, size)) return {};
  PLIMSOLL_TRY(physical_->device().SynchronizeDevice(physical_->id()));
  while (cached != cache_.end() && cached->first < std::pair(stream, size)) {
    PLIMSOLL_TRY(ReleaseFirst(cached));
    cached = cache_.lower_bound({stream, 0});
  }
  return {};
}

Status CachingMemAllocator::Unknown(const Block& block) const {
  if (block.key == BlockKey() && block.address == 0) return Status();
  const bool known =
      block.key.index < slots_.size() && slots_[block.key.index].generation > block.key.generation;
  return Error{ErrorKind::kUsage,
               known ? "memory.freed_twice" : "memory.unknown_block",
               "cannot free a block",
               StrCat("address ", block.address),
               known ? "it was freed before" : "this allocator did not hand it out",
               "free each block once, with the allocator that it came from"};
}

Status CachingMemAllocator::Free(const Block& block) {
  std::lock_guard lock(mutex_);
  const uint32_t index = block.key.index;
  if (index >= slots_.size() || !slots_[index].live ||
      slots_[index].generation != block.key.generation) {
    return Unknown(block);
  }
  Slot& slot = slots_[index];
  slot.live = false;
  ++slot.generation;
  owners_->Gave(slot.owner, slot.requested);
  statistics_.allocated -= Bytes(slot.requested);
  ++statistics_.frees;
  --statistics_.live_blocks;
  Report(MemoryEvent::Kind::kFree, slot);
  if (slot.crossed) {
    crossed_.push_back(index);
  } else {
    Cache(index);
  }
  if (keep_ != Keep::kNothing) return Status();
  // The block is freed in any case: what the device does not take back now stays for the next time.
  LogReleaseFailure(Recycle().status());
  return Status();
}

Status CachingMemAllocator::RecordStream(const Block& block, StreamId stream) {
  std::lock_guard lock(mutex_);
  const uint32_t index = block.key.index;
  if (index >= slots_.size() || slots_[index].generation != block.key.generation) {
    return Unknown(block);
  }
  if (slots_[index].stream != stream) slots_[index].crossed = true;
  return Status();
}

Result<Bytes> CachingMemAllocator::Trim() {
  std::lock_guard lock(mutex_);
  return Recycle();
}

MemoryStatistics CachingMemAllocator::statistics() const {
  std::lock_guard lock(mutex_);
  MemoryStatistics statistics = statistics_;
  statistics.reserved = physical_->reserved();
  statistics.peak_reserved = physical_->peak_reserved();
  for (const auto& [key, indices] : cache_) {
    statistics.largest_free_run = std::max(statistics.largest_free_run, Bytes(key.second));
  }
  return statistics;
}

Error CachingMemAllocator::OutOfMemory(int64_t size, const Error& cause) const {
  OutOfMemoryReport report;
  report.device = physical_->id();
  report.requested = Bytes(size);
  report.limit = physical_->limit();
  if (const auto info = physical_->device().memory().Info(physical_->id()); info.ok()) {
    report.device_total = info->total;
    report.device_free = info->free;
  }
  report.reserved = physical_->reserved();
  report.allocated = statistics_.allocated;
  report.stitches = false;
  report.owners = owners_->Top(kCachingMemReportedOwners);
  report.cause = cause.why;
  return report.ToError();
}

void CachingMemAllocator::Report(MemoryEvent::Kind kind, const Slot& slot) {
  if (observer_ == nullptr) return;
  MemoryEvent event;
  event.kind = kind;
  event.device = physical_->id().ordinal;
  event.stream = slot.stream.valid() ? static_cast<int64_t>(slot.stream.index()) : 0;
  event.address = slot.address;
  event.bytes = Bytes(slot.requested);
  event.tag = owners_->Tag(slot.owner);
  event.allocated = statistics_.allocated;
  event.reserved = physical_->reserved();
  observer_->OnMemoryEvent(event);
}

}  // namespace plimsoll::memory
