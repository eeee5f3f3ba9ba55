#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "plimsoll/device/device.h"
#include "plimsoll/memory/allocator.h"

namespace plimsoll::memory {

// How long freed blocks are watched.
struct GuardOptions {
  Bytes quarantine = MiB(64);  // freed blocks, guards included, are held back up to this
};

// The debug mode of any allocator: guard bytes on both sides of each block, looked at when it is
// freed ("memory.overrun"); freed blocks filled with poison and held back, and looked at when they
// leave ("memory.used_after_free"); second and foreign frees told by address and key. Off by
// default: use it in place of the allocator that it wraps.
//
// Thread-safe. Slow: each call fills or reads device memory and waits for the block's stream. On a
// device whose bytes the host cannot read (the fake) only the frees are checked. A block whose
// guards or poison were broken is given back all the same, and the error names it; the oldest
// block's error may come from the free of another. When memory runs out the quarantine is emptied
// and the request tried again. Statistics are those of the allocator below, guards and quarantine
// included.
class GuardingAllocator final : public Allocator {
 public:
  GuardingAllocator(std::unique_ptr<Allocator> under, std::shared_ptr<device::Device> device,
                    DeviceId id, StreamId stream, GuardOptions options = {});
  ~GuardingAllocator() override;

  Result<Block> Allocate(const Request& request) override;
  Status Free(const Block& block) override;
  Status RecordStream(const Block& block, StreamId stream) override;
  // Empties the quarantine first.
  Result<Bytes> Trim() override;
  MemoryStatistics statistics() const override;

 private:
  struct Guarded {
    Block under;
    Bytes front;  // guard bytes before the block
    Bytes size;   // as requested
    StreamId stream;
    std::vector<StreamId> recorded;  // others that use it

    Address address() const { return under.address + static_cast<uint64_t>(front.value()); }
  };

  Result<Block> AllocateUnder(const Request& request);
  Status Fill(StreamId stream, Address at, uint8_t value, Bytes size);
  Result<bool> Holds(StreamId stream, Address at, uint8_t value, Bytes size);
  Status WaitForRecorded(const Guarded& guarded);
  // Oldest first; a block that the allocator below does not take back stays. The first error.
  Status ShrinkQuarantine(Bytes to);
  Status Unknown(const Block& block);

  mutable std::recursive_mutex mutex_;
  std::unique_ptr<Allocator> under_;
  std::shared_ptr<device::Device> device_;
  const DeviceId id_;
  const StreamId stream_;
  const GuardOptions options_;
  const Bytes granularity_;
  Address window_ = 0;  // host memory to look at device bytes through; 0: they cannot be read
  std::unordered_map<Address, Guarded> live_;
  std::deque<Guarded> quarantine_;  // oldest first
  Bytes quarantined_;
};

}  // namespace plimsoll::memory
