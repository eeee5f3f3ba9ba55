#pragma once

#include <atomic>
#include <memory>

#include "plimsoll/memory/allocator.h"

namespace plimsoll::memory {

// An adaptor that keeps what is handed out through it at or below a limit. Refuses with
// "memory.limit" (kDoesNotFit) before the allocator below is asked. Threads as that one; the
// counter is atomic, so the limit holds for all of them together.
class LimitingAllocator final : public Allocator {
 public:
  LimitingAllocator(std::unique_ptr<Allocator> under, Bytes limit);

  Result<Block> Allocate(const Request& request) override;
  Status Free(const Block& block) override;
  Status RecordStream(const Block& block, StreamId stream) override;
  Result<Bytes> Trim() override;
  MemoryStatistics statistics() const override;

 private:
  std::unique_ptr<Allocator> under_;
  const Bytes limit_;
  std::atomic<int64_t> allocated_ = 0;
};

}  // namespace plimsoll::memory
