#pragma once

#include <cstdint>
#include <string_view>

#include "plimsoll/base/bytes.h"

namespace plimsoll {

// One thing that happened to memory. `tag` is who asked; it is borrowed for the call only.
struct MemoryEvent {
  enum class Kind { kAllocate, kFree, kMap, kUnmap, kReserve, kRelease };
  Kind kind = Kind::kAllocate;
  int device = 0;
  int64_t stream = 0;
  uint64_t address = 0;
  Bytes bytes;
  std::string_view tag;
  Bytes allocated;  // handed out by the reporting allocator, after the event
  Bytes reserved;   // taken from the device by it, after the event
};

// What allocators and the engine report to. An implementation must not allocate from the allocator
// that calls it; it is called under that allocator's lock, where it has one.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  virtual void OnMemoryEvent(const MemoryEvent& event) = 0;
};

}  // namespace plimsoll
