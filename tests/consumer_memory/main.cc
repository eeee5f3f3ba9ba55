#include <cstdio>
#include <cstring>
#include <memory>

#include "plimsoll/device/cpu_device.h"
#include "plimsoll/memory/scalable_allocator.h"

// Takes memory from the processor through the allocator, uses it, and gives it back.
int main() {
  using namespace plimsoll;
  const device::DeviceId id{0};
  auto cpu = std::make_shared<device::CpuDevice>();
  auto stream = cpu->CreateStream(id);
  if (!stream.ok()) return 1;
  auto physical = std::make_shared<memory::PhysicalMemoryAllocator>(cpu, id);
  memory::ScalableAllocator allocator(std::make_unique<memory::DeviceAllocator>(physical, *stream));
  auto block = allocator.Allocate({.size = MiB(3), .tag = "consumer"});
  if (!block.ok()) {
    std::fprintf(stderr, "%s\n", block.error().Text().c_str());
    return 1;
  }
  std::memset(reinterpret_cast<void*>(block->address), 1, static_cast<size_t>(block->size.value()));
  if (!allocator.Free(*block).ok() || !allocator.Trim().ok()) return 1;
  std::printf("reserved at most %lld bytes, now %lld\n",
              static_cast<long long>(physical->peak_reserved().value()),
              static_cast<long long>(physical->reserved().value()));
  return physical->reserved() == Bytes(0) ? 0 : 1;
}
