#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "plimsoll/base/memory_observer.h"
#include "plimsoll/memory/allocator.h"
#include "plimsoll/memory/device_allocator.h"

namespace plimsoll::memory {

class LifePredictor;
class MemoryPool;
class OwnerTable;
class RetiredRanges;
struct StitchPlan;
enum class ExpectedLife : uint8_t;

// Hooks and sizes of one stream's allocator.
struct ScalableOptions {
  MemoryObserver* observer = nullptr;  // outlives the allocator
  // Asked before a refusal becomes an error: others give memory back; returns how much.
  std::function<Result<Bytes>()> recycle = nullptr;
  // Told before new memory of this size is taken, where the device has not refused.
  std::function<void(Bytes)> before_growth = nullptr;
  // Stitched ranges that are kept for requests to come. Beyond it, those that were not used for the
  // longest time are undone, each after its events.
  size_t stitched_ranges = 256;
  // Blocks of less than half of it share slabs of this size (or of the granularity, if larger).
  Bytes slab = MiB(2);
  bool pooled = false;  // other streams have pools of their own (for the report)
};

// The allocator of one thread and one stream: spans of pages in a MemoryPool over a
// DeviceAllocator. A cached request costs no lock, no system call and no heap call. What no free
// run can serve is served, in this order, through a stitched range that exists, through a new one
// over free pages that are not adjacent, with new memory for what is missing, and last after others
// have given memory back. The ranges are kept, up to a number; older ones are undone without a wait
// when a later growth or stitch finds that their events have passed. An address stays valid until
// its block is freed; bytes keep their value only between Allocate and Free, and not over a Pause.
//
// No thread but one at a time: debug builds abort on use from a second thread (Adopt moves it).
// Destroying it with live blocks is allowed: the stream is synchronised, all memory goes back, and
// one warning tells what was still held.
class ScalableAllocator final : public Allocator {
 public:
  explicit ScalableAllocator(std::unique_ptr<DeviceAllocator> device, ScalableOptions options = {});
  ~ScalableAllocator() override;

  // Unique in the process.
  size_t id() const { return id_; }

  Result<Block> Allocate(const Request& request) override;
  Status Free(const Block& block) override;
  // Does nothing for the allocator's own stream; any other is refused with kUnsupported: a pool
  // knows one stream (StreamOrderedAllocator knows many).
  Status RecordStream(const Block& block, StreamId stream) override;
  Result<Bytes> Trim() override;
  MemoryStatistics statistics() const override;
  // Whether the block was handed out here and not freed since: the error of a free that would fail.
  Status CheckLive(const Block& block) const;

  // Gives all physical memory back and keeps every address; blocks live on without their bytes.
  // Between the two every request is refused with "memory.paused".
  Status Pause();
  Status Resume();

  // The calling thread owns the allocator from now on.
  void Adopt();

  StreamId stream() const { return device_->stream(); }
  // Gives idle chunks to the physical allocator, which keeps them for others.
  Result<Bytes> ReleaseIdle();
  // The same without a wait, and nothing where the stream has work in hand: as few chunks as make
  // up `most` bytes, or all.
  Result<Bytes> ReleaseFinished(Bytes most);
  const DeviceAllocator& device() const { return *device_; }

 private:
  // What no free run holds: through a range that is stitched already, or from memory set aside.
  Result<Block> AllocateScattered(const Request& request, int64_t size, ExpectedLife life);
  Result<Block> AllocateSlow(const Request& request, ExpectedLife life);
  // The pool is empty.
  void StartOver(int64_t size);
  // One attempt; kDoesNotFit means that recycling might help.
  Result<uint32_t> Obtain(const Request& request, int64_t size, ExpectedLife life, bool scarce,
                          Address& address);
  Result<uint32_t> ObtainStitched(int64_t size, ExpectedLife life, bool scarce, Address& address);
  Result<uint32_t> ObtainGrown(const Request& request, int64_t size, bool scarce);
  Result<Address> Stitch(const StitchPlan& plan);
  // Whether the program does enough for so many more mappings to be a small part of its time.
  bool PaysForMappings(size_t count) const;
  Status Grow(const GrowRequest& request);
  Result<Bytes> Release(Bytes most, bool finished);
  // Undoes what is beyond the number of ranges to keep, as far as that needs no wait; at twice the
  // number it waits.
  Status UndoOldStitched();
  // Waits for the stream and undoes every range without a block.
  Status UndoIdleStitched();
  Block HandOut(const Request& request, uint32_t extent, Address address);
  bool IsLive(const Block& block) const;
  bool steady() const;
  Status Unknown(const Block& block) const;
  Error OutOfMemory(const Request& request, const Error& cause) const;
  void Report(MemoryEvent::Kind kind, Address address, int64_t bytes, std::string_view tag);
  void CheckThread();

  static std::atomic<size_t> next_id_;

  const size_t id_;
  std::unique_ptr<DeviceAllocator> device_;
  const ScalableOptions options_;
  const int64_t granularity_;
  std::unique_ptr<MemoryPool> pool_;
  std::unique_ptr<RetiredRanges> retired_;
  std::unique_ptr<StitchPlan> plan_;  // kept for its capacity
  std::unique_ptr<OwnerTable> owners_;
  std::unique_ptr<LifePredictor> lives_;
  MemoryStatistics statistics_;
  int64_t freed_ = 0;       // bytes of all blocks freed so far
  int64_t mappings_ = 0;    // of chunks in stitched ranges, all that were made
  int64_t started_at_ = 0;  // allocations when the program last started over
  bool paused_ = false;
  std::thread::id thread_;
};

}  // namespace plimsoll::memory
