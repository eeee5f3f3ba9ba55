#include "plimsoll/memory/stream_ordered_allocator.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "memory/release_failure.h"
#include "plimsoll/base/text.h"

namespace plimsoll::memory {
namespace {

// A key's index holds the pool above and the pool's own index below.
constexpr uint32_t kPoolShift = 24;
constexpr uint32_t kIndexMask = (1u << kPoolShift) - 1;
constexpr size_t kMostPools = 254;
// A stream that asked for nothing while the others asked so often is taken to have paused.
constexpr int64_t kQuietRequests = 256;

Block Inner(Block block) {
  block.key.index &= kIndexMask;
  return block;
}

Error BadFree(const Block& block, std::string code, std::string why) {
  return {ErrorKind::kUsage,     std::move(code),
          "cannot free a block", StrCat("address ", block.address),
          std::move(why),        "free each block once, with the allocator that it came from"};
}

Error Strange(const Block& block) {
  return BadFree(block, "memory.unknown_block", "this allocator did not hand it out");
}

}  // namespace

StreamOrderedAllocator::StreamOrderedAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical,
                                               StreamOrderedOptions options)
    : physical_(std::move(physical)), options_(std::move(options)) {}

StreamOrderedAllocator::~StreamOrderedAllocator() {
  for (const Deferred& deferred : deferred_) {
    for (device::EventId event : deferred.events) {
      LogReleaseFailure(physical_->device().DestroyEvent(physical_->id(), event));
    }
  }
  if (deferred_.empty()) return;
  LogReleaseFailure(physical_->device().SynchronizeDevice(physical_->id()));
}

Result<StreamOrderedAllocator::Pool*> StreamOrderedAllocator::PoolOf(StreamId stream) {
  for (Pool& pool : pools_) {
    if (pool.stream == stream) return &pool;
  }
  if (pools_.size() == kMostPools) {
    return Error{ErrorKind::kUsage,
                 "memory.too_many_streams",
                 "cannot allocate",
                 StrCat("device ", physical_->id().ordinal),
                 StrCat("memory of ", kMostPools, " streams is kept already"),
                 "use an allocator for each group of streams"};
  }
  ScalableOptions options;
  options.observer = options_.observer;
  options.pooled = true;
  options.slab = options_.slab;
  const size_t number = pools_.size();
  const auto may_ask = [this] { return !options_.may_ask_streams || options_.may_ask_streams(); };
  options.recycle = [this, number, may_ask]() -> Result<Bytes> {
    if (!may_ask()) return Bytes(0);
    return RecycleFor(pools_[number].allocator.get());
  };
  options.before_growth = [this, number, may_ask](Bytes size) {
    if (may_ask()) Borrow(number, size);
  };
  auto bridge = std::make_unique<DeviceAllocator>(physical_, stream, options_.expandable);
  pools_.push_back({stream,
                    std::make_unique<ScalableAllocator>(std::move(bridge), std::move(options)), 0,
                    false, false});
  return &pools_.back();
}

StreamOrderedAllocator::Pool* StreamOrderedAllocator::PoolOf(const Block& block) {
  const size_t number = block.key.index >> kPoolShift;
  return number < pools_.size() ? &pools_[number] : nullptr;
}

Result<Block> StreamOrderedAllocator::Allocate(const Request& request) {
  std::lock_guard lock(mutex_);
  if (!deferred_.empty()) PLIMSOLL_TRY(FreeFinished());
  PLIMSOLL_ASSIGN(Pool * pool, PoolOf(request.stream));
  pool->allocator->Adopt();
  pool->asked_at = ++requests_;
  Result<Block> block = pool->allocator->Allocate(request);
  if (!block.ok()) return block;
  assert(block->key.index <= kIndexMask);
  block->key.index |= static_cast<uint32_t>(pool - pools_.data()) << kPoolShift;
  allocated_ += request.size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return block;
}

Status StreamOrderedAllocator::Free(const Block& block) {
  std::lock_guard lock(mutex_);
  if (recorded_.empty()) return FreeNow(block);
  const auto recorded = recorded_.find(block.key.index);
  if (recorded == recorded_.end() || recorded->second.generation != block.key.generation) {
    return FreeNow(block);
  }
  PLIMSOLL_TRY(CheckLive(block));
  PLIMSOLL_TRY(Defer(block, recorded->second.streams));
  recorded->second.deferred = true;
  // The block is freed in any case: what cannot be asked now is asked again by the next request.
  LogReleaseFailure(FreeFinished());
  return Status();
}

Status StreamOrderedAllocator::CheckLive(const Block& block) {
  const auto recorded = recorded_.find(block.key.index);
  if (recorded != recorded_.end() && recorded->second.deferred &&
      recorded->second.generation == block.key.generation) {
    return BadFree(block, "memory.freed_twice", "it was freed before");
  }
  Pool* pool = PoolOf(block);
  return pool == nullptr ? Strange(block) : pool->allocator->CheckLive(Inner(block));
}

Status StreamOrderedAllocator::FreeNow(const Block& block) {
  if (block.key == BlockKey() && block.address == 0) return Status();
  Pool* pool = PoolOf(block);
  if (pool == nullptr) return Strange(block);
  pool->allocator->Adopt();
  PLIMSOLL_TRY(pool->allocator->Free(Inner(block)));
  allocated_ -= block.size;
  return Status();
}

Status StreamOrderedAllocator::RecordStream(const Block& block, StreamId stream) {
  std::lock_guard lock(mutex_);
  if (block.key == BlockKey()) return Status();
  PLIMSOLL_TRY(CheckLive(block));
  if (PoolOf(block)->stream == stream) return Status();
  Recorded& recorded = recorded_[block.key.index];
  if (recorded.generation != block.key.generation) recorded = {block.key.generation, {}, false};
  auto& streams = recorded.streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
  return Status();
}

Status StreamOrderedAllocator::Defer(const Block& block, const std::vector<StreamId>& streams) {
  Deferred deferred{block, {}};
  for (StreamId stream : streams) {
    Result<device::EventId> event = physical_->device().RecordEvent(physical_->id(), stream);
    if (!event.ok()) {
      for (device::EventId made : deferred.events) {
        PLIMSOLL_TRY(physical_->device().DestroyEvent(physical_->id(), made));
      }
      return event.error();
    }
    deferred.events.push_back(*event);
  }
  deferred_.push_back(std::move(deferred));
  return Status();
}

Status StreamOrderedAllocator::FreeFinished() {
  device::Device& device = physical_->device();
  for (auto deferred = deferred_.begin(); deferred != deferred_.end();) {
    while (!deferred->events.empty()) {
      PLIMSOLL_ASSIGN(const bool reached,
                      device.EventReached(physical_->id(), deferred->events.back()));
      if (!reached) break;
      PLIMSOLL_TRY(device.DestroyEvent(physical_->id(), deferred->events.back()));
      deferred->events.pop_back();
    }
    if (!deferred->events.empty()) {
      ++deferred;
      continue;
    }
    const Block block = deferred->block;
    deferred = deferred_.erase(deferred);
    recorded_.erase(block.key.index);
    PLIMSOLL_TRY(FreeNow(block));
  }
  return Status();
}

Result<Bytes> StreamOrderedAllocator::RecycleFor(const ScalableAllocator* asking) {
  Bytes recycled;
  for (Pool& pool : pools_) {
    if (pool.allocator.get() == asking) continue;
    pool.allocator->Adopt();
    PLIMSOLL_ASSIGN(const Bytes released, pool.allocator->ReleaseIdle());
    recycled += released;
  }
  return recycled;
}

void StreamOrderedAllocator::Borrow(size_t number, Bytes size) {
  // What it gave away it needs again: it gives no more, so that a program that repeats itself comes
  // to an end of moving memory.
  if (pools_[number].lent) pools_[number].keeps = true;
  Bytes borrowed;
  for (Pool& pool : pools_) {
    if (&pool == &pools_[number] || pool.keeps || requests_ - pool.asked_at < kQuietRequests) {
      continue;
    }
    pool.allocator->Adopt();
    const Result<Bytes> released = pool.allocator->ReleaseFinished(size - borrowed);
    LogReleaseFailure(released.status());
    if (!released.ok() || *released == Bytes(0)) continue;
    pool.lent = true;
    borrowed += *released;
    if (borrowed >= size) break;
  }
  if (borrowed > Bytes(0)) LogReleaseFailure(physical_->Trim().status());
}

Result<Bytes> StreamOrderedAllocator::Trim() {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(FreeFinished());
  const Bytes before = physical_->reserved();
  PLIMSOLL_TRY(RecycleFor(nullptr).status());
  PLIMSOLL_TRY(physical_->Trim().status());
  return before - physical_->reserved();
}

Status StreamOrderedAllocator::Pause() {
  std::lock_guard lock(mutex_);
  for (Pool& pool : pools_) {
    pool.allocator->Adopt();
    PLIMSOLL_TRY(pool.allocator->Pause());
  }
  return Status();
}

Status StreamOrderedAllocator::Resume() {
  std::lock_guard lock(mutex_);
  for (Pool& pool : pools_) {
    pool.allocator->Adopt();
    PLIMSOLL_TRY(pool.allocator->Resume());
  }
  return Status();
}

MemoryStatistics StreamOrderedAllocator::statistics() const {
  std::lock_guard lock(mutex_);
  MemoryStatistics sum;
  for (const Pool& pool : pools_) {
    const MemoryStatistics one = pool.allocator->statistics();
    sum.allocations += one.allocations;
    sum.frees += one.frees;
    sum.failures += one.failures;
    sum.slow_paths += one.slow_paths;
    sum.live_blocks += one.live_blocks;
    sum.largest_free_run = std::max(sum.largest_free_run, one.largest_free_run);
  }
  sum.allocated = allocated_;
  sum.peak_allocated = peak_allocated_;
  sum.reserved = physical_->reserved();
  sum.peak_reserved = physical_->peak_reserved();
  return sum;
}

}  // namespace plimsoll::memory
