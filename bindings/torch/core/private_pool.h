#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "plimsoll/memory/device_allocator.h"

namespace plimsoll::pytorch {

// As PyTorch names its memory pools.
struct PoolId {
  uint64_t first = 0;
  uint64_t second = 0;
  auto operator<=>(const PoolId&) const = default;
};

// Addresses that the memory of one stream, in the main allocator or in a pool, reserves for its
// homes and once more for stitched ranges: twice what the device holds, which is enough to grow and
// to stitch, and little enough for many streams and pools.
Bytes ReservationOf(device::Device& device, device::DeviceId id);

// Memory that is in use, at the address where it is.
struct LiveBlock {
  device::Address address = 0;
  int64_t requested = 0;
  device::StreamId stream;
};

// A run of addresses that follow one another, cut into blocks that are used or free.
struct Segment {
  struct Block {
    int64_t size = 0;
    int64_t requested = 0;
    bool live = false;
  };
  device::Address address = 0;
  int64_t size = 0;
  device::StreamId stream;
  PoolId pool;
  std::vector<Block> blocks;  // in address order, without gaps
};

// The memory of one stream in one pool: best fit with joining, over chunks that are never moved, so
// that any earlier set of blocks can be put back at its addresses. Nothing waits for the stream and
// nothing goes back to the device but in ReleaseIdle, so all else is fit for the time of a capture.
//
// One thread at a time. O(log blocks).
class StreamArena {
 public:
  StreamArena(std::shared_ptr<memory::PhysicalMemoryAllocator> physical, device::StreamId stream);

  // Takes new memory from the device only where `may_grow`; else fails with kDoesNotFit.
  Result<device::Address> Allocate(int64_t requested, bool may_grow);
  // A live block's address; its requested bytes.
  int64_t Free(device::Address address);
  // Waits for the stream and gives chunks without a block to the physical allocator.
  Result<Bytes> ReleaseIdle();

  std::vector<LiveBlock> Live() const;
  // These blocks and no others are live from now on. Fails (torch.checkpoint) where their memory
  // was given back or they overlap; then nothing has changed.
  Status Restore(const std::vector<LiveBlock>& live);
  void AppendSegments(PoolId pool, std::vector<Segment>& segments) const;

  int64_t reserved() const;
  int64_t LargestFree() const { return free_.empty() ? 0 : free_.rbegin()->first; }

 private:
  struct Cell {
    int64_t size = 0;
    int64_t requested = 0;
    bool live = false;
    bool joins_previous = false;  // addresses go on from the cell before
  };
  using Cells = std::map<device::Address, Cell>;

  Status Grow(int64_t need);
  void AddFree(device::Address at, int64_t size, bool joins_previous);
  void Carve(Cells::iterator cell, int64_t size);
  void Join(Cells::iterator cell);
  int64_t FreeAtTop() const;
  Cells::iterator Containing(device::Address at);
  void Rebuild();

  std::unique_ptr<memory::DeviceAllocator> device_;
  Cells cells_;
  std::set<std::pair<int64_t, device::Address>> free_;  // by size
  std::map<device::Address, int64_t> chunks_;
};

// One of PyTorch's memory pools: private memory of a MemPool or of CUDA graphs, by stream. While it
// is used, its memory stays with it, also what is free: graphs that were captured use it again.
//
// One thread at a time.
class PrivatePool {
 public:
  explicit PrivatePool(PoolId id) : id_(id) {}

  PoolId id() const { return id_; }
  StreamArena& ArenaOf(const std::shared_ptr<memory::PhysicalMemoryAllocator>& physical,
                       device::StreamId stream);
  // Of a stream that has memory here; null: it has none.
  StreamArena* FindArena(device::StreamId stream);
  Result<Bytes> ReleaseIdle();
  std::vector<LiveBlock> Live() const;
  Status Restore(const std::vector<LiveBlock>& live);
  void AppendSegments(std::vector<Segment>& segments) const;
  int64_t reserved() const;
  int64_t LargestFree() const;

  int uses = 0;             // graphs and MemPools that hold it
  bool use_on_oom = false;  // its free memory serves others before a request is refused

 private:
  const PoolId id_;
  std::map<device::StreamId, std::unique_ptr<StreamArena>> arenas_;
};

}  // namespace plimsoll::pytorch
