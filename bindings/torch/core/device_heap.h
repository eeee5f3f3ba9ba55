#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/address_table.h"
#include "core/capture.h"
#include "core/heap_statistics.h"
#include "core/private_pool.h"
#include "plimsoll/base/memory_observer.h"
#include "plimsoll/memory/allocator.h"

namespace plimsoll::pytorch {

class PhysicalCounter;

struct DeviceHeapOptions {
  std::shared_ptr<device::Device> device;
  device::DeviceId id;
  std::function<Result<device::StreamId>(void* native_stream)> adopt_stream;
  const StreamCaptures* captures = nullptr;  // outlives the heap; null: nothing is ever captured
  MemoryObserver* observer = nullptr;        // outlives the heap; told while Observe(true)
  Bytes limit = Bytes(kSaturated);           // on what is taken from the device
  bool guarded = false;                      // GuardingAllocator's checks; slow
};

// The memory of one device as PyTorch asks for it: by the handles of its streams, with blocks named
// by their address alone. Requests go to a StreamOrderedAllocator, or to a private pool where one
// was begun and its filter says that the stream is its own.
//
// A request that the device refuses makes the heap wait for all streams, give back what is idle and
// try again, unless a stream is being captured. Blocks of private pools that other streams used
// wait, after their free, for events of these; so do frees that a capture forbids, until it ended.
//
// Thread-safe: one mutex, not held while `reclaim` runs. A cached request costs it, a look-up of
// the stream, an entry in the address table, and what the allocator costs.
class DeviceHeap {
 public:
  using PoolFilter = std::function<bool(void* native_stream)>;
  // Called before memory is refused, to let others free what they hold.
  using Reclaim = std::function<void()>;

  static Result<std::unique_ptr<DeviceHeap>> Create(DeviceHeapOptions options);
  ~DeviceHeap();

  // 0 for no bytes. Fails with kDoesNotFit and the full report, or with the device's error.
  Result<device::Address> Allocate(int64_t size, void* native_stream, std::string_view tag = {});
  // False: the block is none of this heap's. What goes wrong inside is logged: nobody who frees can
  // do anything about it. With guards, misuse that was found is told by the next request.
  bool Free(device::Address address);
  // False: as above. The block's own stream needs no record.
  Result<bool> RecordStream(device::Address address, void* native_stream);
  // Bytes that were asked for; nothing where the block is not this heap's.
  std::optional<int64_t> SizeOf(device::Address address);

  // Gives back what no block uses, but for pools that are in use.
  Result<Bytes> Trim();
  Result<Bytes> TrimPool(PoolId pool);  // nothing while it is in use
  void SetLimit(Bytes limit);           // 0: none
  Result<Bytes> LargestAvailable();     // cached or free on the device

  // `stream`: the one that may be captured from now on, where it is known; it need not have asked
  // for memory yet.
  void BeginPool(PoolId pool, PoolFilter filter, std::optional<void*> stream = std::nullopt);
  void EndPool(PoolId pool);
  void HoldPool(PoolId pool);  // one use more, and the pool is made where there is none
  void ReleasePool(PoolId pool);
  int PoolUses(PoolId pool);
  void SetUseOnOutOfMemory(PoolId pool, bool use);
  std::vector<LiveBlock> PoolBlocks(PoolId pool);
  struct Restored {
    std::vector<device::Address> freed;
    std::vector<device::Address> allocated;
  };
  // The pool's blocks are those of `live` from now on, whoever holds them.
  Result<Restored> RestorePool(PoolId pool, const std::vector<LiveBlock>& live);

  HeapStatistics statistics();
  void ResetPeak();
  void ResetAccumulated();
  // Of the pool, or of all memory where it is none.
  std::vector<Segment> Segments(PoolId pool = {});
  void* HandleOf(device::StreamId stream);

  void Observe(bool on);
  void SetReclaim(Reclaim reclaim);
  device::DeviceId id() const { return options_.id; }

 private:
  struct Held {  // a block that was handed out
    device::Address address = 0;
    int64_t requested = 0;
    memory::BlockKey key;         // of the main allocator's
    PrivatePool* pool = nullptr;  // null: the main allocator's
    uint32_t stream = 0;          // position in streams_
    bool recorded = false;        // other streams use it
  };
  struct Stream {
    void* handle = nullptr;
    device::StreamId id;
    Counter allocated;  // bytes
  };
  // Freed, but a pool's block that others still use, or one whose free a capture forbids.
  struct Pending {
    Held block;
    std::vector<uint32_t> streams;  // no event could be recorded yet
    std::vector<device::EventId> events;
  };
  struct Route {
    PoolId pool;
    PoolFilter filter;
    std::optional<void*> stream;
  };

  explicit DeviceHeap(DeviceHeapOptions options);
  Result<uint32_t> StreamOf(void* native_stream);
  PrivatePool* RouteOf(void* native_stream);
  PrivatePool& PoolOf(PoolId pool);
  Result<Held> Take(PrivatePool* pool, int64_t size, uint32_t stream, std::string_view tag);
  Result<Held> TakeAfterRecycling(std::unique_lock<std::mutex>& lock, PrivatePool* pool,
                                  int64_t size, uint32_t stream, std::string_view tag);
  Result<Held> TakeFromOtherPools(int64_t size, uint32_t stream);
  void GiveBack(const Held& block);
  bool Capturing() const;
  Status Recycle();
  Result<Bytes> ReleaseUnusedPools();
  void ProcessPending();
  void Tell(MemoryEvent::Kind kind, const Held& block, std::string_view tag);
  const StreamCaptures* WhileRouted() const { return routes_.empty() ? nullptr : captures_; }
  void NoteFailure(const Status& status);

  std::mutex mutex_;
  const DeviceHeapOptions options_;
  const StreamCaptures* const captures_;
  std::unique_ptr<PhysicalCounter> counter_;
  std::shared_ptr<memory::PhysicalMemoryAllocator> physical_;
  std::unique_ptr<memory::Allocator> main_;
  AddressTable<Held> held_;
  std::vector<Stream> streams_;
  std::unordered_map<void*, uint32_t> by_handle_;
  std::map<PoolId, std::unique_ptr<PrivatePool>> pools_;
  std::vector<Route> routes_;                                            // innermost last
  std::unordered_map<device::Address, std::vector<uint32_t>> recorded_;  // blocks of pools
  std::vector<Pending> pending_;
  HeapStatistics statistics_;
  Reclaim reclaim_;
  Status misuse_;  // that the guards found
  bool observed_ = false;
};

}  // namespace plimsoll::pytorch
