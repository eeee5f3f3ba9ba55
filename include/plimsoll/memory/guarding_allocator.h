#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "plimsoll/device/device.h"
#include "plimsoll/memory/allocator.h"

namespace plimsoll::memory {

struct GuardOptions {
  Bytes quarantine = MiB(64);  // freed blocks are held back until they are more than this
};

// The debug mode of any allocator: guard bytes on both sides of each block, looked at when it is
// freed ("memory.overrun"); freed blocks filled with poison and held back, and looked at when they
// leave ("memory.used_after_free"); second and foreign frees told by address. Off by default: use
// it in place of the allocator that it wraps.
//
// Thread-safe. Slow: each call fills or reads device memory and waits for the stream. On a device
// whose bytes the host cannot read (the fake) only the frees are checked.
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
  };

  Status Fill(Address at, uint8_t value, Bytes size);
  Result<bool> Holds(Address at, uint8_t value, Bytes size);
  Status Leave(const Guarded& guarded, Bytes size);
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
  std::unordered_map<Address, std::pair<Guarded, Bytes>> live_;
  std::unordered_map<Address, int64_t> freed_;  // addresses in quarantine
  std::deque<std::pair<Guarded, Bytes>> quarantine_;
  Bytes quarantined_;
};

}  // namespace plimsoll::memory
