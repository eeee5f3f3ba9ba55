#pragma once

#include <deque>
#include <functional>

#include "plimsoll/memory/device_allocator.h"

namespace plimsoll::memory {

// Stitched ranges that are on their way out: no block is seen through them, but the stream may
// still have work in hand that was given to it before their last block was freed. Each gets an
// event behind that work, and its mapping is undone when the event is found to have passed.
//
// One thread. Nothing here waits. What fails is kept and tried again at the next Undo.
class RetiredRanges {
 public:
  explicit RetiredRanges(DeviceAllocator& device) : device_(device) {}
  ~RetiredRanges();
  RetiredRanges(const RetiredRanges&) = delete;
  RetiredRanges& operator=(const RetiredRanges&) = delete;

  void Add(device::Address at) { waiting_.push_back({at, {}, false}); }
  // Undoes those whose event has passed, oldest first, up to the first that has not; all of them
  // where the caller has `waited` for the stream. Tells each.
  Status Undo(bool waited, const std::function<void(device::Address)>& undone);
  // The range was undone elsewhere, after its stream was waited for.
  void Drop(device::Address at);

 private:
  struct Waiting {
    device::Address at = 0;
    device::EventId mark;  // none: not recorded yet, or passed
    bool passed = false;
  };
  Result<bool> Passed(Waiting& range, bool waited);

  DeviceAllocator& device_;
  std::deque<Waiting> waiting_;
};

}  // namespace plimsoll::memory
