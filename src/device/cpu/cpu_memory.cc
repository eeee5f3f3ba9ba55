#include "device/cpu/cpu_memory.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "device/cpu/host_pages.h"
#include "device/cpu/system_memory.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

// Blocks from here up are mappings of their own, so that freeing them gives them back at once.
constexpr Bytes kOwnMapping = host::kHugePage;

Error SystemError(DeviceCall call, DeviceId device, int error) {
  const ErrorKind kind =
      error == ENOMEM || error == ENOSPC ? ErrorKind::kDoesNotFit : ErrorKind::kRunFailed;
  return CallError(call, device, kind, StrCat("the system says: ", std::strerror(error)));
}

void FreeBlock(Address at, Bytes size) {
  if (size >= kOwnMapping) {
    host::Release(at, size.RoundUp(host::kSmallPage.value()));
  } else {
    std::free(reinterpret_cast<void*>(at));
  }
}

}  // namespace

CpuMemory::CpuMemory(const CpuOptions& options, CpuStreams& streams)
    : options_(options),
      streams_(streams),
      table_(options.devices, options.granularity),
      storage_(options.huge_by_default),
      used_(static_cast<size_t>(options.devices)),
      said_unsupported_(static_cast<size_t>(options.devices)),
      total_(options.capacity > Bytes(0) ? options.capacity : SystemMemory().total) {
  assert(options.devices >= 1 && options.devices <= 64);
  assert(options.granularity >= host::kSmallPage &&
         std::has_single_bit(static_cast<uint64_t>(options.granularity.value())));
}

CpuMemory::~CpuMemory() {
  for (const auto& [base, range] : table_.ranges()) host::Release(base, range.size);
  for (const auto& [id, chunk] : stored_) storage_.Destroy(chunk);
  for (const auto& [at, block] : table_.plain_blocks()) FreeBlock(at, block.size);
}

Status CpuMemory::CheckDevice(DeviceCall call, DeviceId device) const {
  return table_.CheckDevice(call, device);
}

Bytes CpuMemory::Granularity(DeviceId device) const {
  return table_.CheckDevice(DeviceCall::kInfo, device).ok() ? table_.granularity() : Bytes(0);
}

Result<AddressRange> CpuMemory::ReserveAddress(DeviceId device, Bytes size, Bytes alignment) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckDevice(DeviceCall::kReserveAddress, device));
  if (!options_.reserves_addresses) {
    if (!said_unsupported_[static_cast<size_t>(device.ordinal)]) {
      said_unsupported_[static_cast<size_t>(device.ordinal)] = true;
      Log(LogLevel::kInfo, StrCat("cpu device ", device.ordinal,
                                  " cannot reserve addresses; plain memory is used instead"));
    }
    return CallError(DeviceCall::kReserveAddress, device, ErrorKind::kUnsupported,
                     "the device was made without virtual memory", "allocate plain memory");
  }
  PLIMSOLL_TRY(table_.CheckReserve(device, size, alignment));
  const AddressRange range{host::Reserve(size, std::max(alignment, table_.granularity())), size};
  if (range.base == 0) {
    return CallError(DeviceCall::kReserveAddress, device, ErrorKind::kDoesNotFit,
                     StrCat("the system has no ", size, " of addresses"), "reserve less");
  }
  table_.AddRange(device, range);
  return range;
}

Status CpuMemory::ReleaseAddress(DeviceId device, AddressRange range) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRelease(device, range));
  host::Release(range.base, range.size);
  table_.RemoveRange(range.base);
  return {};
}

Status CpuMemory::TakeCapacity(DeviceCall call, DeviceId device, Bytes size) {
  Bytes& used = used_[static_cast<size_t>(device.ordinal)];
  if (used + size > total_) {
    return CallError(
        call, device, ErrorKind::kDoesNotFit,
        StrCat(size, " were asked for and ", total_ - used, " of ", total_, " are free"),
        "free memory, or give the device a larger capacity");
  }
  used += size;
  return {};
}

Result<ChunkId> CpuMemory::CreateChunk(DeviceId device, Bytes size, const ChunkOptions& options) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckCreate(device, size));
  PLIMSOLL_TRY(TakeCapacity(DeviceCall::kCreateChunk, device, size));
  auto stored = storage_.Create(device, size, options);
  if (!stored.ok()) {
    used_[static_cast<size_t>(device.ordinal)] -= size;
    return stored.error();
  }
  const ChunkId chunk = table_.AddChunk(device, size, options);
  stored_.emplace(chunk, *stored);
  return chunk;
}

Status CpuMemory::DestroyChunk(DeviceId device, ChunkId chunk) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckDestroy(device, chunk));
  used_[static_cast<size_t>(device.ordinal)] -= table_.chunk(chunk).size;
  table_.RemoveChunk(chunk);
  storage_.Destroy(stored_.extract(chunk).mapped());
  return {};
}

Status CpuMemory::Map(DeviceId device, Address at, ChunkId chunk) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckMap(device, at, chunk));
  if (const int error = storage_.Map(stored_.at(chunk), at)) {
    return SystemError(DeviceCall::kMap, device, error);
  }
  table_.AddMapping(at, chunk, 0);
  return {};
}

Status CpuMemory::CheckIdle(DeviceCall call, DeviceId device, Address at, Bytes size) const {
  const auto user = streams_.PendingUser(at, size);
  if (!user) return {};
  return CallError(call, device, ErrorKind::kRunFailed,
                   StrCat("work pending on stream ", user->index(), " uses ", AddressText(at)),
                   "wait for it first");
}

Status CpuMemory::Unmap(DeviceId device, Address at, Bytes size) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRun(DeviceCall::kUnmap, device, at, size));
  PLIMSOLL_TRY(CheckIdle(DeviceCall::kUnmap, device, at, size));
  int error = 0;
  table_.ForEachMapping(at, size, [&](Address place, const MappingRecord& mapping) {
    if (error == 0) error = storage_.MoveHome(StoredAt(mapping), place);
  });
  if (error == 0) error = host::Clear(at, size);
  if (error != 0) {
    table_.ForEachMapping(at, size, [&](Address place, const MappingRecord& mapping) {
      StoredChunk& chunk = StoredAt(mapping);
      if (chunk.home == 0 || storage_.MoveBack(chunk, place) != 0) return;
      if (mapping.accessible) host::AllowAccess(place, mapping.size);
    });
    return SystemError(DeviceCall::kUnmap, device, error);
  }
  table_.RemoveMappings(at, size);
  return {};
}

Status CpuMemory::SetAccess(DeviceId device, Address at, Bytes size) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRun(DeviceCall::kSetAccess, device, at, size));
  if (const int error = host::AllowAccess(at, size)) {
    return SystemError(DeviceCall::kSetAccess, device, error);
  }
  table_.ForEachMapping(at, size, [&](Address place, MappingRecord& mapping) {
    mapping.accessible = true;
    storage_.BecameAccessible(StoredAt(mapping), place);
  });
  return {};
}

Result<Address> CpuMemory::AllocatePlain(DeviceId device, Bytes size, MemoryType type) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckAllocatePlain(device, size));
  PLIMSOLL_TRY(TakeCapacity(DeviceCall::kAllocatePlain, device, size));
  Address at = 0;
  if (size >= kOwnMapping) {
    at = host::Reserve(size, host::kHugePage);
    if (at != 0 && host::AllowAccess(at, size) != 0) {
      host::Release(std::exchange(at, 0), size.RoundUp(host::kSmallPage.value()));
    }
    if (at != 0 && options_.huge_by_default) host::AdviseHuge(at, size);
  } else {
    const Bytes rounded = size.RoundUp(kPlainAlignment.value());
    at = reinterpret_cast<Address>(std::aligned_alloc(static_cast<size_t>(kPlainAlignment.value()),
                                                      static_cast<size_t>(rounded.value())));
  }
  if (at == 0) {
    used_[static_cast<size_t>(device.ordinal)] -= size;
    return SystemError(DeviceCall::kAllocatePlain, device, ENOMEM);
  }
  table_.AddPlain(at, {device, size, type});
  return at;
}

Status CpuMemory::FreePlain(DeviceId device, Address at) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckFreePlain(device, at));
  const Bytes size = table_.plain(at).size;
  PLIMSOLL_TRY(CheckIdle(DeviceCall::kFreePlain, device, at, size));
  used_[static_cast<size_t>(device.ordinal)] -= size;
  table_.RemovePlain(at);
  FreeBlock(at, size);
  return {};
}

Status CpuMemory::RegisterHost(DeviceId device, Address at, Bytes size) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRegister(device, at, size));
  table_.AddRegistered(at, {device, size, MemoryType::kHost});
  return {};
}

Status CpuMemory::UnregisterHost(DeviceId device, Address at) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckUnregister(device, at));
  PLIMSOLL_TRY(CheckIdle(DeviceCall::kUnregisterHost, device, at, table_.registered(at).size));
  table_.RemoveRegistered(at);
  return {};
}

Result<MemoryInfo> CpuMemory::Info(DeviceId device) const {
  PLIMSOLL_TRY(table_.CheckDevice(DeviceCall::kInfo, device));
  const Bytes available = SystemMemory().free;
  const std::lock_guard lock(mutex_);
  const Bytes left = total_ - used_[static_cast<size_t>(device.ordinal)];
  return MemoryInfo{total_, std::min(left, available)};
}

Status CpuMemory::EnqueueTouching(DeviceCall call, DeviceId device, StreamId stream,
                                  std::vector<CpuStream::Item> items) {
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckDevice(call, device));
  for (CpuStream::Item& item : items) {
    for (Touch& touch : item.uses) PLIMSOLL_TRY(table_.CheckTouch(call, device, touch));
  }
  return streams_.Enqueue(call, device, stream, std::move(items));
}

}  // namespace plimsoll::device
