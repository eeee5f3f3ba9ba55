#include "plimsoll/memory/scalable_allocator.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "memory/pool/memory_pool.h"
#include "memory/pool/owner_table.h"
#include "memory/pool/retired_ranges.h"
#include "memory/release_failure.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"
#include "plimsoll/memory/out_of_memory.h"

namespace plimsoll::memory {
namespace {

constexpr size_t kReportedOwners = 5;
constexpr int64_t kLargest = int64_t{1} << 46;  // more than any address range
// Rounding a block up to whole pages keeps its chunks separate from its neighbour's; it is done
// where it costs no more than this fraction of the block, and three quarters of a page.
constexpr int64_t kPageWaste = 128;
// A program that has freed less than this fraction of its memory is steady: it loads, it does not
// run.
constexpr int64_t kSteadyShare = 1000;
// Stitching in place of growing is worth its mappings from this fraction of all memory on.
constexpr int64_t kWorthStitching = 500;
// Chunks are mapped a second time as far as the program's own work pays for it, which is told from
// its requests: so many mappings are free, then each costs this many requests or bytes freed.
constexpr int64_t kFreeMappings = 1024;
constexpr int64_t kRequestsForAMapping = 32;
constexpr int64_t kBytesForAMapping = int64_t{2} << 30;
// Beyond that new memory is taken, unless this fraction of what is there is free.
constexpr int64_t kMostFree = 16;
// A program that has become empty starts over where it made so many requests for each chunk.
constexpr int64_t kRequestsForAChunk = 4;

int64_t RoundUp(int64_t size, int64_t unit) { return (size + unit - 1) & ~(unit - 1); }

// Bytes that the pool cuts for a request of this size.
inline int64_t CutSize(int64_t requested, int64_t granularity) {
  const int64_t size = requested == 0 ? kBlockAlignment : RoundUp(requested, kBlockAlignment);
  if (size < granularity) return size;
  const int64_t pages = RoundUp(size, granularity);
  return (pages - size) <= std::min(size / kPageWaste, granularity / 4 * 3) ? pages : size;
}

}  // namespace

std::atomic<size_t> ScalableAllocator::next_id_ = 0;

ScalableAllocator::ScalableAllocator(std::unique_ptr<DeviceAllocator> device,
                                     ScalableOptions options)
    : id_(next_id_.fetch_add(1)),
      device_(std::move(device)),
      options_(std::move(options)),
      granularity_(device_->granularity().value()),
      pool_(std::make_unique<MemoryPool>(device_->granularity(), options_.slab)),
      retired_(std::make_unique<RetiredRanges>(*device_)),
      plan_(std::make_unique<StitchPlan>()),
      owners_(std::make_unique<OwnerTable>()),
      lives_(std::make_unique<LifePredictor>()) {}

ScalableAllocator::~ScalableAllocator() {
  if (statistics_.live_blocks > 0) {
    Log(LogLevel::kWarning, StrCat("allocator ", id_, " destroyed with ", statistics_.live_blocks,
                                   " blocks of ", statistics_.allocated, " alive"));
  }
}

void ScalableAllocator::CheckThread() {
#ifndef NDEBUG
  if (thread_ == std::thread::id()) Adopt();
  if (thread_ != std::this_thread::get_id()) {
    Log(LogLevel::kError, StrCat("allocator ", id_, " is used from a second thread"));
    std::abort();
  }
#endif
}

void ScalableAllocator::Adopt() { thread_ = std::this_thread::get_id(); }

inline Block ScalableAllocator::HandOut(const Request& request, ExtentIndex index,
                                        Address address) {
  Extent& extent = (*pool_)[index];
  extent.state = Extent::State::kBlock;
  extent.requested = request.size.value();
  extent.owner = owners_->Find(request.tag);
  owners_->Took(extent.owner, extent.requested);
  statistics_.allocated += request.size;
  statistics_.peak_allocated = std::max(statistics_.peak_allocated, statistics_.allocated);
  ++statistics_.allocations;
  ++statistics_.live_blocks;
  if (options_.observer != nullptr) {
    Report(MemoryEvent::Kind::kAllocate, address, extent.requested, request.tag);
  }
  return {address, request.size, {index, extent.generation}};
}

Result<Block> ScalableAllocator::Allocate(const Request& request) {
  CheckThread();
  const int64_t requested = request.size.value();
  const bool plain = requested >= 0 && requested <= kLargest && !request.single_chunk &&
                     request.alignment.value() == kBlockAlignment && !paused_;
  if (!plain) [[unlikely]]
    return AllocateSlow(request, ExpectedLife::kLong);
  const int64_t size = CutSize(requested, granularity_);
  if (statistics_.live_blocks == 0) StartOver(size);
  const LifePredictor::Situation situation = lives_->Asked(size);
  // Small blocks share slabs, whatever their lives.
  const bool small = size < pool_->small_limit();
  const ExpectedLife life =
      small ? ExpectedLife::kLong : lives_->Predict(situation, pool_->extents());
  const ExtentIndex extent = pool_->Take(size, life);
  Result<Block> block = extent == kNoExtent ? AllocateScattered(request, size, life)
                                            : HandOut(request, extent, (*pool_)[extent].start);
  if (!small && block.ok()) lives_->Got(situation, block->key.index, block->key.generation);
  return block;
}

void ScalableAllocator::StartOver(int64_t size) {
  // Taking memory up again costs each chunk a little.
  const int64_t since = statistics_.allocations - started_at_;
  if (since >= kRequestsForAChunk * static_cast<int64_t>(pool_->chunk_count()) && since > 0 &&
      device_->stitches()) {
    started_at_ = statistics_.allocations;
    pool_->SetAside();
    lives_->Forget();
  } else if (size >= pool_->small_limit()) {
    pool_->ReleaseKeptSlab();
  }
}

Result<Block> ScalableAllocator::AllocateScattered(const Request& request, int64_t size,
                                                   ExpectedLife life) {
  const bool small = size < pool_->small_limit();
  if (!small) pool_->ReleaseKeptSlab();
  do {
    if (const ExtentIndex extent = pool_->Take(size, life); extent != kNoExtent) {
      return HandOut(request, extent, (*pool_)[extent].start);
    }
    if (!small && pool_->FindStitched(size, *plan_)) {
      ++statistics_.slow_paths;
      const ExtentIndex extent = pool_->TakeStitched(*plan_);
      return HandOut(request, extent, pool_->AddressOf(*plan_));
    }
  } while (pool_->TakeUp());
  return AllocateSlow(request, life);
}

inline bool ScalableAllocator::IsLive(const Block& block) const {
  const ExtentIndex index = block.key.index;
  return pool_->Holds(index) && (*pool_)[index].state == Extent::State::kBlock &&
         (*pool_)[index].generation == block.key.generation;
}

Status ScalableAllocator::Free(const Block& block) {
  CheckThread();
  const ExtentIndex index = block.key.index;
  if (!IsLive(block)) return Unknown(block);
  Extent& extent = (*pool_)[index];
  ++extent.generation;
  lives_->Freed();
  freed_ += extent.requested;
  owners_->Gave(extent.owner, extent.requested);
  statistics_.allocated -= Bytes(extent.requested);
  ++statistics_.frees;
  --statistics_.live_blocks;
  if (options_.observer != nullptr) {
    Report(MemoryEvent::Kind::kFree, block.address, extent.requested, owners_->Tag(extent.owner));
  }
  pool_->Give(index);
  return Status();
}

Status ScalableAllocator::CheckLive(const Block& block) const {
  return IsLive(block) ? Status() : Unknown(block);
}

bool ScalableAllocator::steady() const {
  return freed_ <= pool_->reserved().value() / kSteadyShare;
}

Status ScalableAllocator::Unknown(const Block& block) const {
  if (block.key == BlockKey() && block.address == 0) return Status();
  const bool known =
      pool_->Holds(block.key.index) && (*pool_)[block.key.index].generation > block.key.generation;
  return Error{ErrorKind::kUsage,
               known ? "memory.freed_twice" : "memory.unknown_block",
               "cannot free a block",
               StrCat("address ", block.address),
               known ? "it was freed before" : "this allocator did not hand it out",
               "free each block once, with the allocator that it came from"};
}

Status ScalableAllocator::RecordStream(const Block& block, StreamId stream) {
  if (stream == device_->stream()) return Status();
  return Error{ErrorKind::kUnsupported,
               "memory.one_stream",
               "cannot record a stream",
               StrCat("address ", block.address),
               "this pool belongs to another stream",
               "use a StreamOrderedAllocator for memory of several streams"};
}

Result<Block> ScalableAllocator::AllocateSlow(const Request& request, ExpectedLife life) {
  PLIMSOLL_TRY(CheckRequest(request, Bytes(granularity_)));
  if (paused_) {
    return Error{ErrorKind::kUsage,         "memory.paused",        "cannot allocate",
                 StrCat("allocator ", id_), "its memory is paused", "resume it first"};
  }
  ++statistics_.slow_paths;
  if (request.size.value() > kLargest) {
    ++statistics_.failures;
    return OutOfMemory(request, {});
  }
  const int64_t size = CutSize(request.size.value(), granularity_);
  pool_->ReleaseKeptSlab();
  pool_->TakeUpAll();
  Address address = 0;
  Result<uint32_t> extent = Obtain(request, size, life, false, address);
  const auto refused = [&] {
    return !extent.ok() && extent.error().kind == ErrorKind::kDoesNotFit;
  };
  if (refused()) extent = Obtain(request, size, life, true, address);
  if (refused() && options_.recycle) {
    if (Result<Bytes> recycled = options_.recycle(); recycled.ok() && *recycled > Bytes(0)) {
      extent = Obtain(request, size, life, true, address);
    }
  }
  if (extent.ok()) {
    statistics_.peak_reserved = std::max(statistics_.peak_reserved, pool_->reserved());
    return HandOut(request, *extent, address);
  }
  ++statistics_.failures;
  if (!refused()) return extent.error();
  const Error error = OutOfMemory(request, extent.error());
  // Chunks that were created before one was refused would stay reserved for nobody.
  LogReleaseFailure(device_->physical().Trim().status());
  return error;
}

Result<uint32_t> ScalableAllocator::Obtain(const Request& request, int64_t size, ExpectedLife life,
                                           bool scarce, Address& address) {
  const bool plain_request = !request.single_chunk && request.alignment.value() <= kBlockAlignment;
  Result<uint32_t> extent = plain_request && size >= pool_->small_limit() && device_->stitches()
                                ? ObtainStitched(size, life, scarce, address)
                                : ObtainGrown(request, size, scarce);
  if (extent.ok() && address == 0) address = (*pool_)[*extent].start;
  return extent;
}

Result<uint32_t> ScalableAllocator::ObtainGrown(const Request& request, int64_t size, bool scarce) {
  const int64_t alignment = request.alignment.value();
  const bool aligned = alignment > kBlockAlignment;
  const auto take = [&]() -> ExtentIndex {
    if (request.single_chunk) return pool_->TakeInOneChunk(size, alignment);
    return aligned ? pool_->TakeAligned(size, alignment) : pool_->Take(size, ExpectedLife::kLong);
  };
  ExtentIndex extent = take();
  if (extent == kNoExtent && scarce && !aligned && !request.single_chunk) {
    extent = pool_->TakeOutsideSlabs(size);
  }
  if (extent != kNoExtent) return extent;
  int64_t need = aligned && !request.single_chunk ? size + alignment : size;
  if (!request.single_chunk) need = std::max(need, pool_->slab_size());
  PLIMSOLL_TRY(Grow({Bytes(need), request.single_chunk, scarce, steady()}));
  extent = take();
  assert(extent != kNoExtent);
  return extent;
}

Result<uint32_t> ScalableAllocator::ObtainStitched(int64_t size, ExpectedLife life, bool scarce,
                                                   Address& address) {
  for (int attempt = 0;; ++attempt) {
    if (const ExtentIndex extent = pool_->Take(size, life); extent != kNoExtent) return extent;
    StitchPlan& plan = *plan_;
    bool dear = false;
    if (!pool_->FindStitched(size, plan)) {
      plan = pool_->PlanStitch(size, scarce || attempt > 0);
      dear = !scarce && plan.found && !PaysForMappings(plan.chunks.size());
      plan.found &= !dear;
      if (plan.found) {
        PLIMSOLL_ASSIGN(const Address at, Stitch(plan));
        pool_->AddStitched(at, plan);
        mappings_ += static_cast<int64_t>(plan.chunks.size());
      }
    }
    if (plan.found) {
      const ExtentIndex extent = pool_->TakeStitched(plan);
      address = pool_->AddressOf(plan);
      return extent;
    }
    const int64_t at_top = pool_->FreeAtTop();
    const int64_t gain = size - plan.missing - at_top;
    const bool stitch =
        attempt == 0 && !dear && (scarce || gain >= pool_->reserved().value() / kWorthStitching);
    const int64_t need = stitch ? plan.missing : attempt > 1 ? size : size - at_top;
    PLIMSOLL_TRY(Grow({Bytes(need), false, scarce, steady()}));
  }
}

bool ScalableAllocator::PaysForMappings(size_t count) const {
  const int64_t paid =
      kFreeMappings + statistics_.allocations / kRequestsForAMapping + freed_ / kBytesForAMapping;
  return mappings_ + static_cast<int64_t>(count) <= paid ||
         pool_->FreeBytes() >= pool_->reserved().value() / kMostFree;
}

Status ScalableAllocator::Grow(const GrowRequest& request) {
  if (options_.before_growth && !request.scarce) options_.before_growth(request.size);
  PLIMSOLL_ASSIGN(const std::vector<ActiveChunk> chunks, device_->Grow(request));
  pool_->Add(chunks, device_->stitches());
  return Status();
}

Result<Address> ScalableAllocator::Stitch(const StitchPlan& plan) {
  // A mapping too many is no reason to refuse the request: what failed is tried again next time.
  LogReleaseFailure(UndoOldStitched());
  const std::vector<ActiveChunk> chunks = pool_->ChunksOf(plan);
  Result<Address> at = device_->Stitch(chunks);
  if (!at.ok() && at.error().code == "memory.addresses_exhausted") {
    PLIMSOLL_TRY(UndoIdleStitched());
    at = device_->Stitch(chunks);
  }
  return at;
}

Status ScalableAllocator::UndoOldStitched() {
  const size_t count = pool_->stitched_count();
  if (count < options_.stitched_ranges) return Status();
  if (const std::optional<Address> at = pool_->RetireStitched()) retired_->Add(*at);
  // Without a stream there are no events; and a device that lags behind is not let to pile up.
  const bool wait = !device_->stream().valid() || count >= 2 * options_.stitched_ranges;
  if (wait) PLIMSOLL_TRY(device_->Synchronize());
  return retired_->Undo(wait, [&](Address at) { pool_->RemoveStitched(at); });
}

Status ScalableAllocator::UndoIdleStitched() {
  while (const std::optional<Address> at = pool_->RetireStitched()) retired_->Add(*at);
  PLIMSOLL_TRY(device_->Synchronize());
  return retired_->Undo(true, [&](Address at) { pool_->RemoveStitched(at); });
}

Result<Bytes> ScalableAllocator::ReleaseIdle() {
  CheckThread();
  return Release(Bytes(kLargest), false);
}

Result<Bytes> ScalableAllocator::ReleaseFinished(Bytes most) {
  CheckThread();
  if (!device_->stream().valid() || paused_) return Bytes(0);
  PLIMSOLL_ASSIGN(const device::EventId mark, device_->Mark());
  const Result<bool> passed = device_->Passed(mark);
  if (passed.ok() && *passed) return Release(most, true);
  PLIMSOLL_TRY(device_->Forget(mark));
  if (!passed.ok()) return passed.error();
  return Bytes(0);
}

Result<Bytes> ScalableAllocator::Release(Bytes most, bool finished) {
  pool_->ReleaseKeptSlab();
  pool_->TakeUpAll();
  std::vector<Address> stitched;
  std::vector<ActiveChunk> chunks;
  pool_->Idle(most, stitched, chunks);
  std::vector<Address> stitched_left = stitched;
  std::vector<ActiveChunk> chunks_left = chunks;
  const Status status = device_->Release(stitched_left, chunks_left, finished);
  Bytes released;
  for (size_t i = stitched_left.size(); i < stitched.size(); ++i) {
    retired_->Drop(stitched[i]);
    pool_->RemoveStitched(stitched[i]);
  }
  for (size_t i = chunks_left.size(); i < chunks.size(); ++i) {
    pool_->RemoveChunk(chunks[i]);
    released += chunks[i].size;
  }
  if (!status.ok()) return status.error();
  return released;
}

Result<Bytes> ScalableAllocator::Trim() {
  const Bytes before = device_->physical().reserved();
  PLIMSOLL_TRY(ReleaseIdle().status());
  PLIMSOLL_TRY(device_->physical().Trim().status());
  return before - device_->physical().reserved();
}

Status ScalableAllocator::Pause() {
  CheckThread();
  paused_ = true;
  return device_->Pause();
}

Status ScalableAllocator::Resume() {
  CheckThread();
  PLIMSOLL_TRY(device_->Resume());
  paused_ = false;
  return Status();
}

MemoryStatistics ScalableAllocator::statistics() const {
  MemoryStatistics statistics = statistics_;
  statistics.reserved = paused_ ? Bytes(0) : pool_->reserved();
  statistics.largest_free_run = Bytes(pool_->LargestFree());
  return statistics;
}

Error ScalableAllocator::OutOfMemory(const Request& request, const Error& cause) const {
  PhysicalMemoryAllocator& physical = device_->physical();
  OutOfMemoryReport report;
  report.device = physical.id();
  report.requested = request.size;
  report.limit = physical.limit();
  if (const auto info = physical.device().memory().Info(physical.id()); info.ok()) {
    report.device_total = info->total;
    report.device_free = info->free;
  }
  report.reserved = physical.reserved();
  report.allocated = statistics_.allocated;
  report.free = Bytes(pool_->FreeBytes());
  report.cached = physical.cached();
  report.largest_free_run = Bytes(pool_->LargestFree());
  report.stitches = device_->stitches();
  report.pooled = options_.pooled;
  report.owners = owners_->Top(kReportedOwners);
  report.cause = cause.why;
  return report.ToError();
}

void ScalableAllocator::Report(MemoryEvent::Kind kind, Address address, int64_t bytes,
                               std::string_view tag) {
  MemoryEvent event;
  event.kind = kind;
  event.device = device_->physical().id().ordinal;
  event.stream = device_->stream().valid() ? static_cast<int64_t>(device_->stream().index()) : 0;
  event.address = address;
  event.bytes = Bytes(bytes);
  event.tag = tag;
  event.allocated = statistics_.allocated;
  event.reserved = pool_->reserved();
  options_.observer->OnMemoryEvent(event);
}

}  // namespace plimsoll::memory
