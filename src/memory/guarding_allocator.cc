#include "plimsoll/memory/guarding_allocator.h"

#include <algorithm>
#include <utility>

#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::memory {
namespace {

constexpr Bytes kGuard = Bytes(kBlockAlignment);
constexpr uint8_t kGuardByte = 0xa5;
constexpr uint8_t kPoisonByte = 0xdd;
constexpr Bytes kWindow = KiB(64);

Address After(Address at, Bytes size) { return at + static_cast<uint64_t>(size.value()); }

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
  if (device_->Kind() == "fake") return;
  auto window = device_->memory().AllocatePlain(id_, kWindow, device::MemoryType::kHost);
  if (window.ok()) window_ = *window;
}

GuardingAllocator::~GuardingAllocator() {
  if (Status status = ShrinkQuarantine(Bytes(0)); !status.ok()) {
    Log(LogLevel::kError, status.error().Text());
  }
  if (window_ == 0) return;
  if (Status status = device_->memory().FreePlain(id_, window_); !status.ok()) {
    Log(LogLevel::kWarning, status.error().Text());
  }
}

Status GuardingAllocator::Fill(Address at, uint8_t value, Bytes size) {
  if (window_ == 0 || size == Bytes(0)) return Status();
  return device_->Fill(id_, stream_, at, value, size);
}

Result<bool> GuardingAllocator::Holds(Address at, uint8_t value, Bytes size) {
  if (window_ == 0) return true;
  for (Bytes looked; looked < size; looked += kWindow) {
    const Bytes part = std::min(kWindow, size - looked);
    PLIMSOLL_TRY(device_->Copy(id_, stream_, window_, After(at, looked), part));
    PLIMSOLL_TRY(device_->SynchronizeStream(id_, stream_));
    const auto* bytes = reinterpret_cast<const uint8_t*>(window_);
    if (!std::all_of(bytes, bytes + part.value(), [&](uint8_t byte) { return byte == value; })) {
      return false;
    }
  }
  return true;
}

Result<Block> GuardingAllocator::Allocate(const Request& request) {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(CheckRequest(request, granularity_));
  Request guarded = request;
  const Bytes front = std::max(kGuard, request.alignment);
  guarded.size = front + request.size + kGuard;
  PLIMSOLL_ASSIGN(const Block under, under_->Allocate(guarded));
  const Address address = After(under.address, front);
  Status status = Fill(under.address, kGuardByte, front);
  if (status.ok()) status = Fill(After(address, request.size), kGuardByte, kGuard);
  if (!status.ok()) {
    PLIMSOLL_TRY(under_->Free(under));
    return status.error();
  }
  live_[address] = {{under, front}, request.size};
  return Block{address, request.size, under.key};
}

Status GuardingAllocator::Free(const Block& block) {
  std::lock_guard lock(mutex_);
  if (block.key == BlockKey() && block.address == 0) return Status();
  const auto live = live_.find(block.address);
  if (live == live_.end()) return Unknown(block);
  const auto [guarded, size] = live->second;
  PLIMSOLL_ASSIGN(const bool front, Holds(guarded.under.address, kGuardByte, guarded.front));
  PLIMSOLL_ASSIGN(const bool back, Holds(After(block.address, size), kGuardByte, kGuard));
  PLIMSOLL_TRY(Fill(block.address, kPoisonByte, size));
  live_.erase(live);
  ++freed_[block.address];
  quarantine_.emplace_back(guarded, size);
  quarantined_ += size;
  PLIMSOLL_TRY(ShrinkQuarantine(options_.quarantine));
  if (front && back) return Status();
  return Broken("memory.overrun", block.address,
                StrCat("the guard bytes ", front ? "behind" : "before", " it have changed"),
                "check the indices of what writes to it");
}

Status GuardingAllocator::Unknown(const Block& block) {
  const bool twice = freed_.contains(block.address);
  const bool foreign = std::any_of(live_.begin(), live_.end(), [&](const auto& live) {
    return live.second.first.under.key == block.key;
  });
  // A block that has left the quarantine is known to the allocator below by its key alone.
  if (!twice && !foreign) return under_->Free(block);
  return Error{ErrorKind::kUsage,
               twice ? "memory.freed_twice" : "memory.unknown_block",
               "cannot free a block",
               StrCat("address ", block.address),
               twice ? "it was freed before" : "this allocator did not hand it out",
               "free each block once, with the allocator that it came from"};
}

Status GuardingAllocator::Leave(const Guarded& guarded, Bytes size) {
  const Address address = After(guarded.under.address, guarded.front);
  PLIMSOLL_ASSIGN(const bool untouched, Holds(address, kPoisonByte, size));
  PLIMSOLL_TRY(under_->Free(guarded.under));
  if (--freed_[address] == 0) freed_.erase(address);
  if (untouched) return Status();
  return Broken("memory.used_after_free", address, "its bytes have changed since it was freed",
                "free it after the last use, or record the stream that still uses it");
}

Status GuardingAllocator::ShrinkQuarantine(Bytes to) {
  Status first;
  while (quarantined_ > to || (to == Bytes(0) && !quarantine_.empty())) {
    const auto [guarded, size] = quarantine_.front();
    quarantine_.pop_front();
    quarantined_ -= size;
    Status status = Leave(guarded, size);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status GuardingAllocator::RecordStream(const Block& block, StreamId stream) {
  std::lock_guard lock(mutex_);
  const auto live = live_.find(block.address);
  return under_->RecordStream(live == live_.end() ? block : live->second.first.under, stream);
}

Result<Bytes> GuardingAllocator::Trim() {
  std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(ShrinkQuarantine(Bytes(0)));
  return under_->Trim();
}

MemoryStatistics GuardingAllocator::statistics() const { return under_->statistics(); }

}  // namespace plimsoll::memory
