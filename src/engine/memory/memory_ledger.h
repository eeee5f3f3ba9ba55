#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/memory_observer.h"

namespace plimsoll::engine {

// What a session has taken for running its graphs, as it happens: feature maps as their physical
// memory reports, areas and tensors as their holders count them. Knows the most that maps and areas
// ever took together, and how much of that was asked for; the rest is what allocators round up to.
// Thread-safe.
class MemoryLedger : public MemoryObserver {
 public:
  MemoryLedger() = default;
  // `told`: of each change of what the device has given.
  MemoryLedger(std::shared_ptr<MemoryObserver> told, int device)
      : told_(std::move(told)), device_(device) {}

  // Of the physical memory of feature maps: reserves and releases.
  void OnMemoryEvent(const MemoryEvent& event) override;
  // Of an allocator that reports nothing: what it has reserved now.
  void SetMapsReserved(Bytes reserved);

  void CountKept(Bytes change);  // asked for by graphs that keep their feature map
  // Given for one run, from memory that stays for the next: of dynamic graphs, and of static ones
  // where these have one of their own.
  void CountLent(bool of_static, Bytes size);
  void CountArea(bool of_host, Bytes asked, Bytes reserved);  // changes
  // A tensor that is made between the nodes of a run, or one that is gone (negative): from the
  // heap, or from lent memory.
  void CountTensor(bool of_heap, Bytes change);
  // What was lent has gone back to the device.
  void Trimmed();

  Bytes reserved() const;       // of the device, now
  Bytes peak_reserved() const;  // the most there ever was
  Bytes asked() const;          // of what is reserved: kept now, and lent at most
  Bytes host() const;           // areas of host memory, now
  Bytes heap() const;           // tensors of the heap, at most

 private:
  void Raise();  // under the lock
  Bytes Reserved() const { return maps_ + areas_; }

  const std::shared_ptr<MemoryObserver> told_;  // null: nobody
  const int device_ = 0;
  mutable std::mutex mutex_;
  Bytes told_reserved_;
  Bytes maps_;
  Bytes areas_;
  Bytes areas_asked_;
  Bytes host_;
  Bytes kept_;
  Bytes lent_static_;
  Bytes lent_dynamic_;
  Bytes tensors_;  // of lent memory, now
  Bytes peak_;
  // Tensors of the heap, which come and go too often for a lock.
  std::atomic<int64_t> heap_ = 0;  // now
  std::atomic<int64_t> heap_most_ = 0;
};

}  // namespace plimsoll::engine
