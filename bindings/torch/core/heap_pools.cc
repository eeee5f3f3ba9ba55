// The part of DeviceHeap that is about private pools.
#include <algorithm>
#include <utility>

#include "core/device_heap.h"
#include "plimsoll/base/text.h"

namespace plimsoll::pytorch {

PrivatePool& DeviceHeap::PoolOf(PoolId pool) {
  std::unique_ptr<PrivatePool>& found = pools_[pool];
  if (found == nullptr) found = std::make_unique<PrivatePool>(pool);
  return *found;
}

PrivatePool* DeviceHeap::RouteOf(void* native_stream) {
  const auto route = std::find_if(routes_.rbegin(), routes_.rend(), [&](const Route& one) {
    return one.filter == nullptr || one.filter(native_stream);
  });
  return route == routes_.rend() ? nullptr : &PoolOf(route->pool);
}

void DeviceHeap::BeginPool(PoolId pool, PoolFilter filter, std::optional<void*> stream) {
  const std::lock_guard lock(mutex_);
  ++PoolOf(pool).uses;
  routes_.push_back({pool, std::move(filter), stream});
}

void DeviceHeap::EndPool(PoolId pool) {
  const std::lock_guard lock(mutex_);
  const auto route = std::find_if(routes_.rbegin(), routes_.rend(),
                                  [&](const Route& one) { return one.pool == pool; });
  if (route == routes_.rend()) return;
  routes_.erase(std::next(route).base());
  const RelaxedCapture relaxed(WhileRouted());
  if (!pending_.empty()) ProcessPending();
}

void DeviceHeap::HoldPool(PoolId pool) {
  const std::lock_guard lock(mutex_);
  ++PoolOf(pool).uses;
}

void DeviceHeap::ReleasePool(PoolId pool) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  if (found != pools_.end() && found->second->uses > 0) --found->second->uses;
}

int DeviceHeap::PoolUses(PoolId pool) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  return found == pools_.end() ? 0 : found->second->uses;
}

void DeviceHeap::SetUseOnOutOfMemory(PoolId pool, bool use) {
  const std::lock_guard lock(mutex_);
  PoolOf(pool).use_on_oom = use;
}

Result<Bytes> DeviceHeap::TrimPool(PoolId pool) {
  const std::lock_guard lock(mutex_);
  const RelaxedCapture relaxed(WhileRouted());
  const auto found = pools_.find(pool);
  if (found == pools_.end() || found->second->uses > 0 || Capturing()) return Bytes(0);
  ProcessPending();
  const Bytes before = physical_->reserved();
  PLIMSOLL_TRY(ReleaseUnusedPools().status());
  PLIMSOLL_TRY(physical_->Trim().status());
  return before - physical_->reserved();
}

std::vector<LiveBlock> DeviceHeap::PoolBlocks(PoolId pool) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  return found == pools_.end() ? std::vector<LiveBlock>() : found->second->Live();
}

Result<DeviceHeap::Restored> DeviceHeap::RestorePool(PoolId pool,
                                                     const std::vector<LiveBlock>& live) {
  const std::lock_guard lock(mutex_);
  PrivatePool& restored = PoolOf(pool);
  for (const Pending& one : pending_) {
    if (one.block.pool != &restored) continue;
    return Error{ErrorKind::kRunFailed,
                 "torch.checkpoint",
                 "cannot restore a memory pool",
                 StrCat("address ", one.block.address),
                 "the block was freed, but other streams still use it",
                 "synchronise before graphs are switched"};
  }
  const std::vector<LiveBlock> before = restored.Live();
  PLIMSOLL_TRY(restored.Restore(live));
  Restored delta;
  for (const LiveBlock& block : before) {
    delta.freed.push_back(block.address);
    Held* held = held_.Find(block.address);
    if (held == nullptr) continue;
    statistics_.Gave(held->requested);
    streams_[held->stream].allocated.Subtract(BlockBytes(held->requested));
    if (observed_) Tell(MemoryEvent::Kind::kFree, *held, {});
    recorded_.erase(block.address);
    held_.Remove(held);
  }
  for (const LiveBlock& block : live) {
    delta.allocated.push_back(block.address);
    const auto stream = std::find_if(streams_.begin(), streams_.end(),
                                     [&](const Stream& one) { return one.id == block.stream; });
    const Held held{block.address,
                    block.requested,
                    {},
                    &restored,
                    static_cast<uint32_t>(stream - streams_.begin()),
                    false};
    held_.Insert(held);
    statistics_.Took(block.requested);
    streams_[held.stream].allocated.Add(BlockBytes(block.requested));
    if (observed_) Tell(MemoryEvent::Kind::kAllocate, held, "restored");
  }
  return delta;
}

std::vector<Segment> DeviceHeap::Segments(PoolId wanted) {
  const std::lock_guard lock(mutex_);
  std::vector<Segment> segments;
  for (const auto& [id, pool] : pools_) {
    if (wanted == PoolId() || wanted == id) pool->AppendSegments(segments);
  }
  if (wanted != PoolId()) return segments;
  // The main allocator's blocks: what follows without a gap on one stream is one segment.
  std::vector<Held> blocks;
  held_.ForEach([&](const Held& block) {
    if (block.pool == nullptr) blocks.push_back(block);
  });
  std::sort(blocks.begin(), blocks.end(),
            [](const Held& a, const Held& b) { return a.address < b.address; });
  for (const Held& block : blocks) {
    const device::StreamId stream = streams_[block.stream].id;
    const bool follows =
        !segments.empty() && segments.back().pool == PoolId() && segments.back().stream == stream &&
        segments.back().address + static_cast<uint64_t>(segments.back().size) == block.address;
    if (!follows) segments.push_back({block.address, 0, stream, {}, {}});
    const int64_t size = BlockBytes(block.requested);
    segments.back().size += size;
    segments.back().blocks.push_back({size, block.requested, true});
  }
  return segments;
}

}  // namespace plimsoll::pytorch
