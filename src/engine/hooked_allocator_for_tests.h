#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "plimsoll/device/cpu_device.h"
#include "plimsoll/memory/caching_mem_allocator.h"

namespace plimsoll::engine {

// An allocator over memory of the CPU that calls back before each block it gives: the way into the
// middle of a run.
class HookedAllocator final : public memory::Allocator {
 public:
  explicit HookedAllocator(std::function<void()> before)
      : under_(std::make_shared<memory::PhysicalMemoryAllocator>(
            std::make_shared<device::CpuDevice>(), device::DeviceId{0})),
        before_(std::move(before)) {}

  Result<memory::Block> Allocate(const memory::Request& request) override {
    before_();
    return under_.Allocate(request);
  }
  Status Free(const memory::Block& block) override { return under_.Free(block); }
  Status RecordStream(const memory::Block& block, memory::StreamId stream) override {
    return under_.RecordStream(block, stream);
  }
  Result<Bytes> Trim() override { return under_.Trim(); }
  memory::MemoryStatistics statistics() const override { return under_.statistics(); }

 private:
  memory::CachingMemAllocator under_;
  const std::function<void()> before_;
};

}  // namespace plimsoll::engine
