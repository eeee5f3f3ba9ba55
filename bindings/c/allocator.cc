#include <memory>

#include "c/status.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/registry.h"
#include "plimsoll/memory/caching_mem_allocator.h"
#include "plimsoll/memory/limiting_allocator.h"
#include "plimsoll/memory/scalable_allocator.h"
#include "plimsoll/memory/stream_ordered_allocator.h"

// Memory goes back in the order that allocators ask for: blocks, chunks, stream, device.
struct plimsoll_allocator {
  std::shared_ptr<plimsoll::device::Device> device;
  plimsoll::device::DeviceId id{0};
  plimsoll::device::StreamId stream;
  std::shared_ptr<plimsoll::memory::PhysicalMemoryAllocator> physical;
  std::unique_ptr<plimsoll::memory::Allocator> allocator;

  ~plimsoll_allocator() {
    allocator.reset();
    physical.reset();
    if (stream.valid()) {
      [[maybe_unused]] const plimsoll::Status gone = device->DestroyStream(id, stream);
    }
  }
};

namespace plimsoll::bindings {
namespace {

Result<std::unique_ptr<memory::Allocator>> MakeAllocator(const std::string& kind,
                                                         const plimsoll_allocator& on) {
  if (kind == "scalable") {
    return std::unique_ptr<memory::Allocator>(std::make_unique<memory::ScalableAllocator>(
        std::make_unique<memory::DeviceAllocator>(on.physical, on.stream)));
  }
  if (kind == "stream_ordered") {
    return std::unique_ptr<memory::Allocator>(
        std::make_unique<memory::StreamOrderedAllocator>(on.physical));
  }
  if (kind == "caching") {
    return std::unique_ptr<memory::Allocator>(
        std::make_unique<memory::CachingMemAllocator>(on.physical));
  }
  return BadCall("kind", StrCat("there is no allocator '", kind, "'"),
                 "use scalable, stream_ordered or caching");
}

Result<std::unique_ptr<plimsoll_allocator>> Create(const plimsoll_allocator_options& options) {
  auto made = std::make_unique<plimsoll_allocator>();
  PLIMSOLL_ASSIGN(made->device,
                  device::MakeDevice(options.device == nullptr ? "cpu" : options.device,
                                     {.devices = 1, .capacity = Bytes(options.capacity)}));
  PLIMSOLL_ASSIGN(made->stream, made->device->CreateStream(made->id));
  made->physical = std::make_shared<memory::PhysicalMemoryAllocator>(made->device, made->id);
  PLIMSOLL_ASSIGN(made->allocator,
                  MakeAllocator(options.kind == nullptr ? "stream_ordered" : options.kind, *made));
  if (options.limit > 0) {
    made->allocator = std::make_unique<memory::LimitingAllocator>(std::move(made->allocator),
                                                                  Bytes(options.limit));
  }
  return made;
}

constexpr int kKeyBits = 32;

plimsoll_block ToBlock(const memory::Block& block) {
  const uint64_t key = uint64_t{block.key.generation} << kKeyBits | block.key.index;
  return {block.address, block.size.value(), key};
}

memory::Block FromBlock(const plimsoll_block& block) {
  return {block.address,
          Bytes(block.size),
          {static_cast<uint32_t>(block.key), static_cast<uint32_t>(block.key >> kKeyBits)}};
}

}  // namespace
}  // namespace plimsoll::bindings

using plimsoll::Bytes;
using plimsoll::Status;
using namespace plimsoll::bindings;

plimsoll_status* plimsoll_allocator_create(const plimsoll_allocator_options* options,
                                           plimsoll_allocator** allocator) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(allocator, "allocator"));
    PLIMSOLL_ASSIGN(const plimsoll_allocator_options read, ReadStruct(options, "options"));
    PLIMSOLL_ASSIGN(auto made, Create(read));
    *allocator = made.release();
    return {};
  });
}

void plimsoll_allocator_free(plimsoll_allocator* allocator) { delete allocator; }

plimsoll_status* plimsoll_allocate(plimsoll_allocator* allocator, int64_t size, int64_t alignment,
                                   const char* tag, plimsoll_block* block) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(allocator, "allocator"));
    PLIMSOLL_TRY(CheckGiven(block, "block"));
    plimsoll::memory::Request request{.size = Bytes(size)};
    if (alignment != 0) request.alignment = Bytes(alignment);
    if (tag != nullptr) request.tag = tag;
    request.stream = allocator->stream;
    PLIMSOLL_ASSIGN(const plimsoll::memory::Block made, allocator->allocator->Allocate(request));
    *block = ToBlock(made);
    return {};
  });
}

plimsoll_status* plimsoll_deallocate(plimsoll_allocator* allocator, const plimsoll_block* block) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(allocator, "allocator"));
    PLIMSOLL_TRY(CheckGiven(block, "block"));
    return allocator->allocator->Free(FromBlock(*block));
  });
}

plimsoll_status* plimsoll_allocator_trim(plimsoll_allocator* allocator, int64_t* given_back) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(allocator, "allocator"));
    PLIMSOLL_ASSIGN(Bytes bytes, allocator->allocator->Trim());
    PLIMSOLL_ASSIGN(const Bytes chunks, allocator->physical->Trim());
    bytes += chunks;
    if (given_back != nullptr) *given_back = bytes.value();
    return {};
  });
}

plimsoll_status* plimsoll_allocator_get_statistics(const plimsoll_allocator* allocator,
                                                   plimsoll_allocator_statistics* statistics) {
  return Guarded([&]() -> Status {
    PLIMSOLL_TRY(CheckGiven(allocator, "allocator"));
    const plimsoll::memory::MemoryStatistics now = allocator->allocator->statistics();
    plimsoll_allocator_statistics made = PLIMSOLL_ALLOCATOR_STATISTICS_INIT;
    made.allocated = now.allocated.value();
    made.peak_allocated = now.peak_allocated.value();
    made.reserved = now.reserved.value();
    made.peak_reserved = now.peak_reserved.value();
    made.largest_free_run = now.largest_free_run.value();
    made.allocations = now.allocations;
    made.frees = now.frees;
    made.failures = now.failures;
    made.live_blocks = now.live_blocks;
    return WriteStruct(made, "statistics", statistics);
  });
}
