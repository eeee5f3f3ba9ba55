#include "device/fake/fake_memory.h"

#include <algorithm>
#include <limits>

#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
Bytes FakeMemory::Granularity(DeviceId device) const {
  const std::lock_guard lock(state_.mutex);
  return state_.table.CheckDevice(DeviceCall::kInfo, device).ok() ? state_.table.granularity()
                                                                  : Bytes(0);
}

Result<AddressRange> FakeMemory::ReserveAddress(DeviceId device, Bytes size, Bytes alignment) {
  FakeCallScope call(state_, DeviceCall::kReserveAddress, device, 0, size);
  PLIMSOLL_TRY(call.Begin());
  FakeState::PerDevice& own = state_.of(device);
  if (!state_.options.reserves_addresses) {
    if (!std::exchange(own.said_unsupported, true)) {
      Log(LogLevel::kInfo, StrCat("fake device ", device.ordinal,
                                  " cannot reserve addresses; plain memory is used instead"));
    }
    return CallError(DeviceCall::kReserveAddress, device, ErrorKind::kUnsupported,
                     "the device has no virtual memory", "allocate plain memory");
  }
  PLIMSOLL_TRY(state_.table.CheckReserve(device, size, alignment));
  const auto base = own.addresses.Take(size, std::max(alignment, state_.table.granularity()));
  if (!base) {
    return CallError(DeviceCall::kReserveAddress, device, ErrorKind::kDoesNotFit,
                     StrCat("no ", size, " of addresses are free"), "reserve less");
  }
  const AddressRange range{*base, size};
  state_.table.AddRange(device, range);
  call.entry.at = *base;
  call.Succeed();
  return range;
}

Status FakeMemory::ReleaseAddress(DeviceId device, AddressRange range) {
  FakeCallScope call(state_, DeviceCall::kReleaseAddress, device, range.base, range.size);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckRelease(device, range));
  state_.table.RemoveRange(range.base);
  state_.of(device).addresses.GiveBack(range.base, range.size);
  call.Succeed();
  return {};
}

Status FakeMemory::TakePages(DeviceId device, Bytes size, PagePolicy pages) {
  const bool gigabyte = pages == PagePolicy::kHuge1G;
  if (gigabyte || pages == PagePolicy::kHuge2M) {
    const Bytes page = gigabyte ? GiB(1) : MiB(2);
    int64_t& pool = gigabyte ? state_.of(device).pages_1g_free : state_.of(device).pages_2m_free;
    const int64_t wanted = size.RoundUp(page.value()).value() / page.value();
    if (size != size.RoundUp(page.value()) || wanted > pool) {
      return CallError(DeviceCall::kCreateChunk, device, ErrorKind::kDoesNotFit,
                       StrCat(size.value(), " bytes need ", wanted, " whole pages of ", page,
                              " and the fake pool has ", pool));
    }
    pool -= wanted;
  }
  if (pages == PagePolicy::kTransparent2M && !state_.options.transparent_pages) {
    return CallError(DeviceCall::kCreateChunk, device, ErrorKind::kUnsupported,
                     "the fake device has no transparent huge pages");
  }
  return {};
}

void FakeMemory::ReturnPages(DeviceId device, Bytes size, PagePolicy pages) {
  if (pages == PagePolicy::kHuge1G) {
    state_.of(device).pages_1g_free += size.value() / GiB(1).value();
  } else if (pages == PagePolicy::kHuge2M) {
    state_.of(device).pages_2m_free += size.value() / MiB(2).value();
  }
}

Result<ChunkId> FakeMemory::CreateChunk(DeviceId device, Bytes size, const ChunkOptions& options) {
  FakeCallScope call(state_, DeviceCall::kCreateChunk, device, 0, size);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckCreate(device, size));
  PLIMSOLL_TRY(TakePages(device, size, options.pages));
  if (Status taken = state_.TakePhysical(DeviceCall::kCreateChunk, device, size, options.type);
      !taken.ok()) {
    ReturnPages(device, size, options.pages);
    return taken;
  }
  call.Succeed();
  return state_.table.AddChunk(device, size, options);
}

Status FakeMemory::DestroyChunk(DeviceId device, ChunkId chunk) {
  FakeCallScope call(state_, DeviceCall::kDestroyChunk, device);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckDestroy(device, chunk));
  const ChunkRecord& record = state_.table.chunk(chunk);
  call.entry.size = record.size;
  state_.ReturnPhysical(device, record.size, record.options.type);
  ReturnPages(device, record.size, record.options.pages);
  state_.table.RemoveChunk(chunk);
  call.Succeed();
  return {};
}

Status FakeMemory::Map(DeviceId device, Address at, ChunkId chunk) {
  FakeCallScope call(state_, DeviceCall::kMap, device, at);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckMap(device, at, chunk));
  state_.table.AddMapping(at, chunk, state_.work.enqueued());
  call.entry.size = state_.table.chunk(chunk).size;
  call.Succeed();
  return {};
}

Status FakeMemory::CheckIdle(DeviceCall call, DeviceId device, Address at, Bytes size,
                             uint64_t since) const {
  const auto user = state_.work.PendingUser(device, at, size, since);
  if (!user) return {};
  return CallError(call, device, ErrorKind::kRunFailed,
                   StrCat("work pending on stream ", user->index(), " uses ", AddressText(at)),
                   "wait for it first");
}

Status FakeMemory::Unmap(DeviceId device, Address at, Bytes size) {
  FakeCallScope call(state_, DeviceCall::kUnmap, device, at, size);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckRun(DeviceCall::kUnmap, device, at, size));
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  int64_t cost = 0;
  state_.table.ForEachMapping(at, size, [&](Address, const MappingRecord& mapping) {
    oldest = std::min(oldest, mapping.since);
    cost += state_.options.costs.unmap.Nanoseconds(mapping.size);
  });
  PLIMSOLL_TRY(CheckIdle(DeviceCall::kUnmap, device, at, size, oldest));
  state_.table.RemoveMappings(at, size);
  call.Succeed(cost);
  return {};
}

Status FakeMemory::SetAccess(DeviceId device, Address at, Bytes size) {
  FakeCallScope call(state_, DeviceCall::kSetAccess, device, at, size);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckRun(DeviceCall::kSetAccess, device, at, size));
  int64_t cost = 0;
  state_.table.ForEachMapping(at, size, [&](Address, MappingRecord& mapping) {
    mapping.accessible = true;
    cost += state_.options.costs.set_access.Nanoseconds(mapping.size);
  });
  call.Succeed(cost);
  return {};
}

Result<Address> FakeMemory::AllocatePlain(DeviceId device, Bytes size, MemoryType type) {
  FakeCallScope call(state_, DeviceCall::kAllocatePlain, device, 0, size);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckAllocatePlain(device, size));
  const Bytes rounded = size.RoundUp(kPlainAlignment.value());
  PLIMSOLL_TRY(state_.TakePhysical(DeviceCall::kAllocatePlain, device, rounded, type));
  const auto at = state_.of(device).addresses.Take(rounded, kPlainAlignment);
  if (!at) {
    state_.ReturnPhysical(device, rounded, type);
    return CallError(DeviceCall::kAllocatePlain, device, ErrorKind::kDoesNotFit,
                     StrCat("no ", rounded, " of addresses are free"), "ask for less");
  }
  state_.table.AddPlain(*at, {device, size, type, state_.work.enqueued()});
  call.entry.at = *at;
  call.Succeed();
  return *at;
}

Status FakeMemory::FreePlain(DeviceId device, Address at) {
  FakeCallScope call(state_, DeviceCall::kFreePlain, device, at);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckFreePlain(device, at));
  const PlainRecord block = state_.table.plain(at);
  PLIMSOLL_TRY(CheckIdle(DeviceCall::kFreePlain, device, at, block.size, block.since));
  const Bytes rounded = block.size.RoundUp(kPlainAlignment.value());
  state_.table.RemovePlain(at);
  state_.of(device).addresses.GiveBack(at, rounded);
  state_.ReturnPhysical(device, rounded, block.type);
  call.entry.size = block.size;
  call.Succeed();
  return {};
}

Status FakeMemory::RegisterHost(DeviceId device, Address at, Bytes size) {
  FakeCallScope call(state_, DeviceCall::kRegisterHost, device, at, size);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckRegister(device, at, size));
  state_.table.AddRegistered(at, {device, size, MemoryType::kHost, state_.work.enqueued()});
  call.Succeed();
  return {};
}

Status FakeMemory::UnregisterHost(DeviceId device, Address at) {
  FakeCallScope call(state_, DeviceCall::kUnregisterHost, device, at);
  PLIMSOLL_TRY(call.Begin());
  PLIMSOLL_TRY(state_.table.CheckUnregister(device, at));
  const PlainRecord block = state_.table.registered(at);
  PLIMSOLL_TRY(CheckIdle(DeviceCall::kUnregisterHost, device, at, block.size, block.since));
  state_.table.RemoveRegistered(at);
  call.entry.size = block.size;
  call.Succeed();
  return {};
}

Result<MemoryInfo> FakeMemory::Info(DeviceId device) const {
  FakeCallScope call(state_, DeviceCall::kInfo, device);
  PLIMSOLL_TRY(call.Begin());
  call.Succeed();
  return MemoryInfo{state_.options.capacity, state_.options.capacity - state_.of(device).physical};
}

}  // namespace plimsoll::device
