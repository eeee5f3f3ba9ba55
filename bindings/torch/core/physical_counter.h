#pragma once

#include "core/heap_statistics.h"
#include "plimsoll/base/memory_observer.h"

namespace plimsoll::pytorch {

// Counts the chunks that are taken from the device and passes them on while somebody listens.
class PhysicalCounter final : public MemoryObserver {
 public:
  explicit PhysicalCounter(MemoryObserver* under) : under_(under) {}

  // Called by the physical allocator alone, under the heap's mutex.
  void OnMemoryEvent(const MemoryEvent& event) override {
    if (event.kind == MemoryEvent::Kind::kReserve) {
      chunks.Add(1);
      bytes.Add(event.bytes.value());
    } else if (event.kind == MemoryEvent::Kind::kRelease) {
      chunks.Subtract(1);
      bytes.Subtract(event.bytes.value());
    } else {
      return;
    }
    if (passes && under_ != nullptr) under_->OnMemoryEvent(event);
  }

  Counter chunks;
  Counter bytes;
  bool passes = false;

 private:
  MemoryObserver* const under_;
};

}  // namespace plimsoll::pytorch
