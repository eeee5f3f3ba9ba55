#include "plimsoll/memory/guarding_allocator.h"

#include <algorithm>
#include <utility>

#include "memory/pool/address_math.h"
#include "memory/release_failure.h"
#include "plimsoll/base/text.h"
#include "plimsoll/device/waiting.h"

namespace plimsoll::memory {
namespace {

constexpr Bytes kGuard = Bytes(kBlockAlignment);
constexpr uint8_t kGuardByte = 0xa5;
constexpr uint8_t kPoisonByte = 0xdd;
constexpr Bytes kWindow = KiB(64);

Error Broken(const char* code, Address at, std::string why, std::string remedy) {
  return {ErrorKind::kRunFailed,   code,           "memory was written where it must not be",
          StrCat("block at ", at), std::move(why), std::move(remedy)};
}

}  // namespace

GuardingAllocator::GuardingAllocator(std::unique_ptr<Allocator> under,
                                     std::shared_ptr<device::Device> device, DeviceId id,
                                     StreamId stream, GuardOptions options)
    : under_(std::move(under)),
      device_(std::move(device)),
      id_(id),
      stream_(stream),
      options_(options),
      granularity_(device_->memory().Granularity(id)) {
  if (!device_->Properties(id).holds_bytes) return;
  auto window = device_->memory().AllocatePlain(id_, kWindow, device::MemoryType::kHost);
  if (window.ok()) window_ = *window;
}

GuardingAllocator::~GuardingAllocator() {
  LogReleaseFailure(ShrinkQuarantine(Bytes(0)), LogLevel::kError);
  if (window_ != 0) LogReleaseFailure(device_->memory().FreePlain(id_, window_));
}

Status GuardingAllocator::Fill(StreamId stream, Address at, uint8_t value, Bytes size) {
  if (window_ == 0 || size == Bytes(0)) return Status();
  return device_->Fill(id_, stream, at, value, size);
}

Result<bool> GuardingAllocator::Holds(StreamId stream, Address at, uint8_t value, Bytes size) {
  if (window_ == 0) return true;
  for (Bytes looked; looked < size; looked += kWindow) {
    const Bytes part = std::min(kWindow, size - looked);
    PLIMSOLL_TRY(device::CopyAndWait(*device_, id_, stream, window_, After(at, looked), part));
    const auto* bytes = reinterpret_cast<const uint8_t*>(window_);
    if (!std::all_of(bytes, bytes + part.value(), [&](uint8_t byte) { return byte == value; })) {
      return false;
    }
  }
  return true;
}

Result<Block> GuardingAllocator::AllocateUnder(const Request& request) {
  Result<Block> block = under_->Allocate(request);
  const bool refused = !block.ok() && block.error().kind == ErrorKind::kDoesNotFit;
  if (!refused || quarantine_.empty()) return block;
  PLIMSOLL_TRY(ShrinkQuarantine(Bytes(0)));
  return under_->Allocate(request);
}

Result<Block> GuardingAllocator::Allocate(const Request& request) {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckRequest(request, granularity_));
  Guarded guarded;
  guarded.front = std::max(kGuard, request.alignment);
  guarded.size = request.size;
  guarded.stream = request.stream.valid() ? request.stream : stream_;
  Request wider = request;
  wider.size = guarded.front + request.size + kGuard;
  PLIMSOLL_ASSIGN(guarded.under, AllocateUnder(wider));
  const Address address = guarded.address();
  Status status = Fill(guarded.stream, guarded.under.address, kGuardByte, guarded.front);
  if (status.ok()) status = Fill(guarded.stream, After(address, guarded.size), kGuardByte, kGuard);
  if (!status.ok()) {
    // The allocator below may hand the block to another stream.
    (void)device::WaitForStream(*device_, id_, guarded.stream).ok();
    PLIMSOLL_TRY(under_->Free(guarded.under));
    return status.error();
  }
  const Block block{address, request.size, guarded.under.key};
  live_[address] = std::move(guarded);
  return block;
}

Status GuardingAllocator::Free(const Block& block) {
  std::lock_guard lock(mutex_);
  if (block.key == BlockKey() && block.address == 0) return Status();
  const auto live = live_.find(block.address);
  if (live == live_.end() || live->second.under.key != block.key) return Unknown(block);
  const Guarded& guarded = live->second;
  PLIMSOLL_TRY(WaitForRecorded(guarded));
  PLIMSOLL_ASSIGN(const bool front,
                  Holds(guarded.stream, guarded.under.address, kGuardByte, guarded.front));
  PLIMSOLL_ASSIGN(const bool back,
                  Holds(guarded.stream, After(block.address, guarded.size), kGuardByte, kGuard));
  PLIMSOLL_TRY(Fill(guarded.stream, block.address, kPoisonByte, guarded.size));
  quarantined_ += guarded.under.size;
  quarantine_.push_back(std::move(live->second));
  live_.erase(live);
  Status left = ShrinkQuarantine(options_.quarantine);
  if (front && back) return left;
  LogReleaseFailure(left, LogLevel::kError);
  const char* side = front ? "behind" : back ? "before" : "on both sides of";
  return Broken("memory.overrun", block.address,
                StrCat("the guard bytes ", side, " it have changed"),
                "check the indices of what writes to it");
}

// Poison is written only after the last legal use, wherever that is.
Status GuardingAllocator::WaitForRecorded(const Guarded& guarded) {
  for (const StreamId stream : guarded.recorded) {
    PLIMSOLL_ASSIGN(const device::EventId event, device_->RecordEvent(id_, stream));
    const Status waits = device_->WaitEvent(id_, guarded.stream, event);
    PLIMSOLL_TRY(device_->DestroyEvent(id_, event));
    PLIMSOLL_TRY(waits);
  }
  return Status();
}

Status GuardingAllocator::Unknown(const Block& block) {
  bool twice = false;
  bool held = false;  // by this allocator, though not at that address
  for (const Guarded& freed : quarantine_) {
    twice |= freed.address() == block.address && freed.under.key == block.key;
    held |= freed.under.key == block.key;
  }
  for (const auto& [address, guarded] : live_) held |= guarded.under.key == block.key;
  // A block that has left the quarantine is known to the allocator below by its key alone.
  if (!twice && !held) return under_->Free(block);
  return Error{ErrorKind::kUsage,
               twice ? "memory.freed_twice" : "memory.unknown_block",
               "cannot free a block",
               StrCat("address ", block.address),
               twice ? "it was freed before" : "this allocator did not hand it out",
               "free each block once, with the allocator that it came from"};
}

Status GuardingAllocator::ShrinkQuarantine(Bytes to) {
  Status first;
  const auto tell = [&first](Status status) {
    if (first.ok()) first = std::move(status);
  };
  while (!quarantine_.empty() && quarantined_ > to) {
    const Guarded& oldest = quarantine_.front();
    const Result<bool> untouched = Holds(oldest.stream, oldest.address(), kPoisonByte, oldest.size);
    if (Status freed = under_->Free(oldest.under); !freed.ok()) {
      tell(std::move(freed));
      return first;
    }
    if (!untouched.ok()) {
      tell(untouched.status());
    } else if (!*untouched) {
      tell(Broken("memory.used_after_free", oldest.address(),
                  "its bytes have changed since it was freed",
                  "free it after the last use, or record the stream that still uses it"));
    }
    quarantined_ -= oldest.under.size;
    quarantine_.pop_front();
  }
  return first;
}

Status GuardingAllocator::RecordStream(const Block& block, StreamId stream) {
  std::lock_guard lock(mutex_);
  const auto live = live_.find(block.address);
  if (live == live_.end()) return under_->RecordStream(block, stream);
  Guarded& guarded = live->second;
  PLIMSOLL_TRY(under_->RecordStream(guarded.under, stream));
  if (stream != guarded.stream) guarded.recorded.push_back(stream);
  return Status();
}

Result<Bytes> GuardingAllocator::Trim() {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(ShrinkQuarantine(Bytes(0)));
  return under_->Trim();
}

MemoryStatistics GuardingAllocator::statistics() const {
  std::lock_guard lock(mutex_);
  return under_->statistics();
}

}  // namespace plimsoll::memory
