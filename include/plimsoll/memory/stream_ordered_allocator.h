#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "plimsoll/memory/scalable_allocator.h"

namespace plimsoll::memory {

// The same for every stream.
struct StreamOrderedOptions {
  ExpandableOptions expandable;
  MemoryObserver* observer = nullptr;   // outlives the allocator
  Bytes slab = ScalableOptions().slab;  // of each stream's pool
  // Whether streams may be waited for and get events, where a request of another lacks memory;
  // none: they always may. They must not while one of them is captured into a graph.
  std::function<bool()> may_ask_streams = nullptr;
};

// Memory for many streams and threads: one ScalableAllocator a stream over the same physical
// memory. A block freed on its stream may be taken again there at once. A block that was recorded
// on other streams waits, after its free, for what they had in hand. Before a stream takes new
// memory, idle chunks of streams that have asked for nothing for a while go back where an event
// shows that their work is done. When the device refuses more, idle chunks of all other streams go
// back, each after its stream was synchronised, and the request is tried again.
//
// Thread-safe: one recursive mutex. A cached request costs that lock more than a ScalableAllocator.
// At most 254 streams ("memory.too_many_streams"). Streams must outlive the allocator.
class StreamOrderedAllocator final : public Allocator {
 public:
  explicit StreamOrderedAllocator(std::shared_ptr<PhysicalMemoryAllocator> physical,
                                  StreamOrderedOptions options = {});
  // Synchronises every stream, releases all memory, then lets go of the device.
  ~StreamOrderedAllocator() override;

  Result<Block> Allocate(const Request& request) override;
  Status Free(const Block& block) override;
  Status RecordStream(const Block& block, StreamId stream) override;
  // Also frees the blocks whose other streams have finished.
  Result<Bytes> Trim() override;
  MemoryStatistics statistics() const override;

  Status Pause();
  Status Resume();
  PhysicalMemoryAllocator& physical() const { return *physical_; }

 private:
  struct Pool {
    StreamId stream;
    std::unique_ptr<ScalableAllocator> allocator;
    int64_t asked_at = 0;  // counts the requests of all streams
    bool lent = false;     // chunks of it went to another stream
    bool keeps = false;    // and were missed afterwards
  };
  struct Deferred {  // freed, but still in use on other streams
    Block block;
    std::vector<device::EventId> events;
  };
  struct Recorded {
    uint32_t generation = 0;
    std::vector<StreamId> streams;
    bool deferred = false;  // freed already
  };

  Result<Pool*> PoolOf(StreamId stream);
  Pool* PoolOf(const Block& block);
  Status FreeNow(const Block& block);
  Status Defer(const Block& block, const std::vector<StreamId>& streams);
  Status FreeFinished();
  Status CheckLive(const Block& block);
  Result<Bytes> RecycleFor(const ScalableAllocator* asking);
  // Gives idle chunks of streams that have paused back to the device before a pool takes new ones.
  // A stream lends where an event shows that its work is done; nothing waits.
  void Borrow(size_t number, Bytes size);

  mutable std::recursive_mutex mutex_;
  std::shared_ptr<PhysicalMemoryAllocator> physical_;
  const StreamOrderedOptions options_;
  std::vector<Pool> pools_;
  std::map<uint32_t, Recorded> recorded_;  // by key index
  std::deque<Deferred> deferred_;
  int64_t requests_ = 0;
  Bytes allocated_;
  Bytes peak_allocated_;
};

}  // namespace plimsoll::memory
