#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "plimsoll/memory/allocator.h"
#include "plimsoll/memory/physical_memory_allocator.h"

namespace plimsoll::memory {

class OwnerTable;

// What a cache does with a block that is freed.
enum class Keep {
  kAll,          // it stays, for a request of its stream that fills at least four fifths of it
  kUntilLarger,  // it stays, for any request that it holds; one that is larger sends it back first
  kNothing,      // it goes back to the device, at once or, where that fails, with a later one
};

// A cache over plain device memory: each block is a plain allocation of its own, kept when it is
// freed as `Keep` says. For devices without virtual memory, and for blocks that live outside any
// pool.
//
// Thread-safe: one recursive mutex. A cached request costs the lock and a search in a tree.
class CachingMemAllocator final : public Allocator {
 public:
  explicit CachingMemAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical,
                               MemoryObserver* observer = nullptr, Keep keep = Keep::kAll);
  // Synchronises the device, then frees every block, then lets go of the device.
  ~CachingMemAllocator() override;

  Result<Block> Allocate(const Request& request) override;
  Status Free(const Block& block) override;
  // The block becomes free for all streams after the device was synchronised once.
  Status RecordStream(const Block& block, StreamId stream) override;
  Result<Bytes> Trim() override;
  MemoryStatistics statistics() const override;

 private:
  struct Slot {
    Address address = 0;
    int64_t size = 0;  // of the plain block; 0: the slot is unused
    int64_t requested = 0;
    StreamId stream;
    uint32_t generation = 0;
    uint32_t owner = 0;  // in the table of tags
    bool live = false;
    bool crossed = false;  // used on another stream: not reusable before a synchronisation
  };
  using IdleBlocks = std::map<std::pair<StreamId, int64_t>, std::vector<uint32_t>>;

  uint32_t FindCached(StreamId stream, int64_t size);
  void Cache(uint32_t index);
  // On refusal: synchronises, releases what is cached, and tries once more; then the full report.
  Result<Address> AllocateWithTryRecycle(int64_t size);
  Result<Bytes> Recycle();
  // Gives back what is cached on this stream below this size.
  Status ReleaseSmaller(StreamId stream, int64_t size);
  Status ReleaseFirst(IdleBlocks::iterator cached);
  Status Unknown(const Block& block) const;
  Error OutOfMemory(int64_t size, const Error& cause) const;
  void Report(MemoryEvent::Kind kind, const Slot& slot);

  mutable std::recursive_mutex mutex_;
  std::shared_ptr<PhysicalMemoryAllocator> physical_;
  MemoryObserver* const observer_;
  const Keep keep_;
  const int64_t granularity_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> unused_;
  IdleBlocks cache_;
  IdleBlocks::node_type spare_;    // so that a block can come and go without a heap call
  std::vector<uint32_t> crossed_;  // freed, waiting for a synchronisation
  std::unique_ptr<OwnerTable> owners_;
  MemoryStatistics statistics_;
};

}  // namespace plimsoll::memory
