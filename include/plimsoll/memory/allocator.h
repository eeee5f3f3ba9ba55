#pragma once

#include <cstdint>
#include <string_view>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

// The one interface of dynamic memory. Allocators compose: a leaf takes memory from a device, a
// sub-allocator cuts a leaf's memory, an adaptor (limit, observer, guard) wraps any of them.
//
//   auto block = allocator.Allocate({.size = MiB(3), .tag = "activations"});
//   if (!block.ok()) return block.error();   // the report says why and what to do
//   ...
//   PLIMSOLL_TRY(allocator.Free(*block));
namespace plimsoll::memory {

using device::Address;
using device::DeviceId;
using device::StreamId;

// Every address is at least so aligned, and sizes are kept in multiples of it.
inline constexpr int64_t kBlockAlignment = 512;

// What a caller asks for.
struct Request {
  Bytes size;                                // zero is served: an address of its own, no bytes
  Bytes alignment = Bytes(kBlockAlignment);  // a power of two, at most the device's granularity
  StreamId stream = {};                      // none: the allocator's first stream
  std::string_view tag = {};                 // who asks; borrowed for the call
  bool single_chunk = false;  // one physical chunk, so that others can register the block
};

// Names a block inside its allocator. A block that was freed keeps its index and loses its
// generation, so a second free is told from a first.
struct BlockKey {
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t index = kNone;
  uint32_t generation = 0;
  bool operator==(const BlockKey&) const = default;
};

// Memory handed out. A plain value: copying it copies no ownership; whoever asked for it frees it.
struct Block {
  Address address = 0;
  Bytes size;  // as requested
  BlockKey key;
};

// Counters of one allocator. Every allocator of the library has them, always on.
struct MemoryStatistics {
  Bytes allocated;         // requested bytes handed out now
  Bytes peak_allocated;    // the most there ever were
  Bytes reserved;          // taken from the device now, mapped or not
  Bytes peak_reserved;     // the most there ever were
  Bytes largest_free_run;  // the largest request that needs no device call
  int64_t allocations = 0;
  int64_t frees = 0;
  int64_t failures = 0;    // requests refused
  int64_t slow_paths = 0;  // requests that no cached free run served
  int64_t live_blocks = 0;
};

// Hands out stream-ordered memory: a block freed on a stream may be taken again on that stream at
// once. Each class says which threads may call it. Failures: "memory.out_of_memory" (kDoesNotFit)
// with the full report, "memory.bad_size", "memory.bad_alignment", "memory.unknown_block" and
// "memory.freed_twice" (kUsage); a failed call changes nothing. Freeing the null block does
// nothing.
class Allocator {
 public:
  virtual ~Allocator() = default;

  virtual Result<Block> Allocate(const Request& request) = 0;
  virtual Status Free(const Block& block) = 0;
  // The block is also used on `stream`: after its free it waits for what that stream has in hand.
  virtual Status RecordStream(const Block& block, StreamId stream) = 0;
  // Gives back to the device what no block needs, while blocks live. Returns the bytes given back.
  // An allocator that keeps nothing has nothing to give back, and need not count.
  virtual Result<Bytes> Trim() { return Bytes(0); }
  virtual MemoryStatistics statistics() const { return {}; }
};

// The checks every allocator makes first; `granularity` is the largest alignment.
Status CheckRequest(const Request& request, Bytes granularity);

}  // namespace plimsoll::memory
