#include "core/device_heap.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/physical_counter.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/memory/guarding_allocator.h"
#include "plimsoll/memory/stream_ordered_allocator.h"

namespace plimsoll::pytorch {
namespace {

using device::Address;
using device::StreamId;

}  // namespace

Result<std::unique_ptr<DeviceHeap>> DeviceHeap::Create(DeviceHeapOptions options) {
  if (options.id.ordinal < 0 || options.id.ordinal >= options.device->Count()) {
    return Error{ErrorKind::kUsage,
                 "torch.device",
                 "cannot allocate",
                 StrCat("device ", options.id.ordinal),
                 StrCat("there are ", options.device->Count(), " devices"),
                 "name one of them"};
  }
  return std::unique_ptr<DeviceHeap>(new DeviceHeap(std::move(options)));
}

DeviceHeap::DeviceHeap(DeviceHeapOptions options)
    : options_(std::move(options)),
      captures_(options_.captures),
      counter_(std::make_unique<PhysicalCounter>(options_.observer)) {
  memory::PhysicalMemoryOptions physical;
  physical.limit = options_.limit;
  physical.observer = counter_.get();
  physical_ =
      std::make_shared<memory::PhysicalMemoryAllocator>(options_.device, options_.id, physical);
  memory::StreamOrderedOptions ordered;
  ordered.expandable.reservation = ReservationOf(*options_.device, options_.id);
  ordered.may_ask_streams = [this] { return !Capturing(); };
  main_ = std::make_unique<memory::StreamOrderedAllocator>(physical_, ordered);
}

DeviceHeap::~DeviceHeap() = default;

Result<uint32_t> DeviceHeap::StreamOf(void* native_stream) {
  // Most programs use one stream, and the others have few.
  for (uint32_t i = 0; i < streams_.size() && i < 4; ++i) {
    if (streams_[i].handle == native_stream) return i;
  }
  if (const auto known = by_handle_.find(native_stream); known != by_handle_.end()) {
    return known->second;
  }
  PLIMSOLL_ASSIGN(const StreamId id, options_.adopt_stream(native_stream));
  if (options_.guarded && streams_.empty()) {
    main_ = std::make_unique<memory::GuardingAllocator>(std::move(main_), options_.device,
                                                        options_.id, id);
  }
  const auto position = static_cast<uint32_t>(streams_.size());
  streams_.push_back({native_stream, id, {}});
  by_handle_[native_stream] = position;
  return position;
}

void* DeviceHeap::HandleOf(StreamId stream) {
  const std::lock_guard lock(mutex_);
  for (const Stream& one : streams_) {
    if (one.id == stream) return one.handle;
  }
  return nullptr;
}

Result<DeviceHeap::Held> DeviceHeap::Take(PrivatePool* pool, int64_t size, uint32_t stream,
                                          std::string_view tag) {
  Held held;
  held.requested = size;
  held.stream = stream;
  held.pool = pool;
  memory::Request request;
  request.size = Bytes(size);
  request.stream = streams_[stream].id;
  request.tag = tag;
  if (pool != nullptr) {
    PLIMSOLL_TRY(memory::CheckRequest(request, Bytes(kBlockUnit)));
    StreamArena& arena = pool->ArenaOf(physical_, streams_[stream].id);
    PLIMSOLL_ASSIGN(held.address, arena.Allocate(size, true));
    return held;
  }
  PLIMSOLL_ASSIGN(const memory::Block block, main_->Allocate(request));
  held.address = block.address;
  held.key = block.key;
  return held;
}

Result<Address> DeviceHeap::Allocate(int64_t size, void* native_stream, std::string_view tag) {
  if (size == 0) return Address{0};
  std::unique_lock lock(mutex_);
  const RelaxedCapture relaxed(WhileRouted());
  if (!misuse_.ok()) return std::exchange(misuse_, Status()).error();
  if (!pending_.empty()) ProcessPending();
  PLIMSOLL_ASSIGN(const uint32_t stream, StreamOf(native_stream));
  PrivatePool* pool = routes_.empty() ? nullptr : RouteOf(native_stream);
  Result<Held> held = Take(pool, size, stream, tag);
  if (!held.ok() && held.error().kind == ErrorKind::kDoesNotFit) {
    held = TakeAfterRecycling(lock, pool, size, stream, tag);
  }
  if (!held.ok()) {
    if (held.error().kind == ErrorKind::kDoesNotFit) ++statistics_.ooms;
    return held.error();
  }
  held_.Insert(*held);
  statistics_.Took(size);
  streams_[stream].allocated.Add(BlockBytes(size));
  if (observed_) Tell(MemoryEvent::Kind::kAllocate, *held, tag);
  return held->address;
}

Result<DeviceHeap::Held> DeviceHeap::TakeAfterRecycling(std::unique_lock<std::mutex>& lock,
                                                        PrivatePool* pool, int64_t size,
                                                        uint32_t stream, std::string_view tag) {
  ++statistics_.alloc_retries;
  if (reclaim_) {
    const Reclaim reclaim = reclaim_;
    if (pool != nullptr) ++pool->uses;
    lock.unlock();
    reclaim();
    lock.lock();
    if (pool != nullptr) --pool->uses;
  }
  Status recycled;
  if (!Capturing()) recycled = Recycle();
  Result<Held> held = Take(pool, size, stream, tag);
  if (held.ok() || held.error().kind != ErrorKind::kDoesNotFit) return held;
  Result<Held> other = TakeFromOtherPools(size, stream);
  if (other.ok()) return other;
  if (!recycled.ok() && recycled.error().kind != ErrorKind::kDoesNotFit) return recycled.error();
  if (pool == nullptr) return held;
  // The main allocator's report tells more than the arena that was refused.
  Error error = held.error();
  error.what = "out of memory";
  error.where = StrCat("device ", options_.id.ordinal, ", a private pool");
  error.why = StrCat(Bytes(size), " requested; reserved ", physical_->reserved(), ", by this pool ",
                     Bytes(pool->reserved()), "; ", error.why);
  error.remedy = "free tensors of other pools, or raise the memory limit";
  error.code = "memory.out_of_memory";
  return error;
}

Result<DeviceHeap::Held> DeviceHeap::TakeFromOtherPools(int64_t size, uint32_t stream) {
  for (const auto& [id, pool] : pools_) {
    StreamArena* arena = pool->use_on_oom ? pool->FindArena(streams_[stream].id) : nullptr;
    if (arena == nullptr) continue;
    const Result<Address> at = arena->Allocate(size, false);
    if (at.ok()) return Held{*at, size, {}, pool.get(), stream, false};
  }
  return Error{ErrorKind::kDoesNotFit, "torch.pool_full", "no other pool may be used", "", "", ""};
}

bool DeviceHeap::Free(Address address) {
  if (address == 0) return true;
  const std::lock_guard lock(mutex_);
  Held* found = held_.Find(address);
  if (found == nullptr) return false;
  const Held block = *found;
  held_.Remove(found);
  const RelaxedCapture relaxed(WhileRouted());
  statistics_.Gave(block.requested);
  streams_[block.stream].allocated.Subtract(BlockBytes(block.requested));
  if (observed_) Tell(MemoryEvent::Kind::kFree, block, {});
  if (block.recorded && block.pool != nullptr) {
    pending_.push_back({block, recorded_.extract(address).mapped(), {}});
    statistics_.pending_blocks += 1;
    statistics_.pending_bytes += BlockBytes(block.requested);
    ProcessPending();
  } else if (block.recorded && Capturing()) {
    pending_.push_back({block, {}, {}});  // the allocator would record events
  } else {
    GiveBack(block);
  }
  return true;
}

void DeviceHeap::GiveBack(const Held& block) {
  if (block.pool != nullptr) {
    block.pool->FindArena(streams_[block.stream].id)->Free(block.address);
    return;
  }
  NoteFailure(main_->Free({block.address, Bytes(block.requested), block.key}));
}

void DeviceHeap::NoteFailure(const Status& status) {
  if (status.ok()) return;
  Log(LogLevel::kError, status.error().Text());
  if (options_.guarded) misuse_ = status;
}

Result<bool> DeviceHeap::RecordStream(Address address, void* native_stream) {
  if (address == 0) return true;
  const std::lock_guard lock(mutex_);
  Held* block = held_.Find(address);
  if (block == nullptr) return false;
  const RelaxedCapture relaxed(WhileRouted());
  PLIMSOLL_ASSIGN(const uint32_t stream, StreamOf(native_stream));
  if (stream == block->stream) return true;
  block->recorded = true;
  if (block->pool == nullptr) {
    PLIMSOLL_TRY(
        main_->RecordStream({address, Bytes(block->requested), block->key}, streams_[stream].id));
    return true;
  }
  std::vector<uint32_t>& streams = recorded_[address];
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
  return true;
}

std::optional<int64_t> DeviceHeap::SizeOf(Address address) {
  const std::lock_guard lock(mutex_);
  const Held* block = held_.Find(address);
  return block == nullptr ? std::nullopt : std::optional<int64_t>(block->requested);
}

// Events are recorded once no capture forbids it; a block whose events have all passed is free.
void DeviceHeap::ProcessPending() {
  device::Device& device = *options_.device;
  const bool capturing = Capturing();
  for (size_t i = 0; i < pending_.size();) {
    Pending& one = pending_[i];
    while (!capturing && !one.streams.empty()) {
      const auto event = device.RecordEvent(options_.id, streams_[one.streams.back()].id);
      if (!event.ok()) break;
      one.events.push_back(*event);
      one.streams.pop_back();
    }
    while (!one.events.empty()) {
      const auto reached = device.EventReached(options_.id, one.events.back());
      if (!reached.ok() || !*reached) break;
      NoteFailure(device.DestroyEvent(options_.id, one.events.back()));
      one.events.pop_back();
    }
    const bool of_main = one.block.pool == nullptr;
    if (!one.streams.empty() || !one.events.empty() || (of_main && capturing)) {
      ++i;
      continue;
    }
    GiveBack(one.block);
    if (!of_main) {
      statistics_.pending_blocks -= 1;
      statistics_.pending_bytes -= BlockBytes(one.block.requested);
    }
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool DeviceHeap::Capturing() const {
  if (captures_ == nullptr || routes_.empty()) return false;
  return std::any_of(streams_.begin(), streams_.end(),
                     [&](const Stream& stream) { return captures_->IsCapturing(stream.handle); }) ||
         std::any_of(routes_.begin(), routes_.end(), [&](const Route& route) {
           return route.stream && captures_->IsCapturing(*route.stream);
         });
}

Status DeviceHeap::Recycle() {
  ++statistics_.sync_all_streams;
  PLIMSOLL_TRY(options_.device->SynchronizeDevice(options_.id));
  ProcessPending();
  PLIMSOLL_TRY(ReleaseUnusedPools().status());
  return main_->Trim().status();
}

Result<Bytes> DeviceHeap::ReleaseUnusedPools() {
  Bytes released;
  for (auto pool = pools_.begin(); pool != pools_.end();) {
    if (pool->second->uses > 0) {
      ++pool;
      continue;
    }
    PLIMSOLL_ASSIGN(const Bytes one, pool->second->ReleaseIdle());
    released += one;
    const bool empty = pool->second->Live().empty() &&
                       std::none_of(pending_.begin(), pending_.end(), [&](const Pending& freed) {
                         return freed.block.pool == pool->second.get();
                       });
    pool = empty ? pools_.erase(pool) : std::next(pool);
  }
  return released;
}

Result<Bytes> DeviceHeap::Trim() {
  const std::lock_guard lock(mutex_);
  const RelaxedCapture relaxed(WhileRouted());
  if (Capturing()) {
    return Error{ErrorKind::kUsage,
                 "torch.capturing",
                 "cannot give memory back",
                 StrCat("device ", options_.id.ordinal),
                 "a stream is being captured into a graph",
                 "empty the cache before the capture or after it"};
  }
  const Bytes before = physical_->reserved();
  ProcessPending();
  PLIMSOLL_TRY(ReleaseUnusedPools().status());
  PLIMSOLL_TRY(main_->Trim().status());
  return before - physical_->reserved();
}

void DeviceHeap::SetLimit(Bytes limit) {
  const std::lock_guard lock(mutex_);
  physical_->SetLimit(limit == Bytes(0) ? Bytes(kSaturated) : limit);
}

Result<Bytes> DeviceHeap::LargestAvailable() {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_ASSIGN(const device::MemoryInfo info, options_.device->memory().Info(options_.id));
  const Bytes room = physical_->limit() - physical_->reserved();
  const Bytes free = std::max(std::min(info.free, room), Bytes(0)) + physical_->cached();
  return std::max(free, main_->statistics().largest_free_run);
}

void DeviceHeap::SetReclaim(Reclaim reclaim) {
  const std::lock_guard lock(mutex_);
  reclaim_ = std::move(reclaim);
}

}  // namespace plimsoll::pytorch
