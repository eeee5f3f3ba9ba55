#include "device/cuda/cuda_memory.h"

#include <algorithm>
#include <utility>

#include "device/cuda/forked_process.h"
#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

// More than any card can address.
constexpr Bytes kMostAddresses = GiB(1024) * 128;

size_t Length(Bytes size) { return static_cast<size_t>(size.value()); }
Bytes FromDriver(size_t size) { return Bytes(static_cast<int64_t>(size)); }

}  // namespace

CudaMemory::CudaMemory(const CudaOptions& options, CudaCards& cards, CudaStreams& streams)
    : capacity_(options.capacity),
      reserves_addresses_(options.reserves_addresses),
      cards_(cards),
      streams_(streams),
      table_(cards.devices(), cards.granularity()),
      used_(static_cast<size_t>(cards.devices())),
      said_unsupported_(static_cast<size_t>(cards.devices())) {}

CudaMemory::~CudaMemory() {
  if (cuda::UsedBeforeFork()) return;
  const cuda::Driver& driver = cards_.driver();
  for (const auto& [at, mapping] : table_.mappings()) driver.memory_unmap(at, Length(mapping.size));
  for (const auto& [chunk, handle] : handles_) driver.memory_release(handle);
  for (const auto& [base, range] : table_.ranges()) {
    const auto wider = wider_.find(base);
    const AddressRange whole =
        wider == wider_.end() ? AddressRange{base, range.size} : wider->second;
    driver.address_free(whole.base, Length(whole.size));
  }
  for (const auto& [at, block] : table_.plain_blocks()) {
    const ContextScope context(driver, cards_.card(block.device).context);
    if (block.type == MemoryType::kHost) {
      driver.host_free(reinterpret_cast<void*>(at));
    } else {
      driver.memory_free(at);
    }
  }
  for (const AddressRange& run : registrations_.Runs()) {
    const ContextScope context(driver, cards_.AnyContext());
    driver.host_unregister(reinterpret_cast<void*>(run.base));
  }
}

Bytes CudaMemory::Granularity(DeviceId device) const {
  return cards_.exists(device) ? table_.granularity() : Bytes(0);
}

bool CudaMemory::reserves_addresses(DeviceId device) const {
  return reserves_addresses_ && cards_.exists(device) && cards_.card(device).virtual_memory;
}

Result<AddressRange> CudaMemory::ReserveAddress(DeviceId device, Bytes size, Bytes alignment) {
  CudaCall call(cards_, DeviceCall::kReserveAddress, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  if (!reserves_addresses(device)) {
    if (!said_unsupported_[IndexOf(device)]) {
      said_unsupported_[IndexOf(device)] = true;
      Log(LogLevel::kInfo, StrCat("cuda device ", device.ordinal,
                                  " cannot reserve addresses; plain memory is used instead"));
    }
    return CallError(DeviceCall::kReserveAddress, device, ErrorKind::kUnsupported,
                     reserves_addresses_ ? "the card has no virtual memory"
                                         : "the device was made without virtual memory",
                     "allocate plain memory");
  }
  PLIMSOLL_TRY(table_.CheckReserve(device, size, alignment));
  if (std::max(size, alignment) > kMostAddresses) {
    return CallError(DeviceCall::kReserveAddress, device, ErrorKind::kDoesNotFit,
                     StrCat("no card has ", std::max(size, alignment), " of addresses"),
                     "reserve less");
  }
  PLIMSOLL_ASSIGN(const AddressRange range,
                  Reserve(call, size, std::max(alignment, table_.granularity())));
  table_.AddRange(device, range);
  return range;
}

// The driver takes an alignment, and may still give less.
Result<AddressRange> CudaMemory::Reserve(CudaCall& call, Bytes size, Bytes alignment) {
  const cuda::Driver& driver = call.driver();
  const cuda::Pointer mask = Length(alignment) - 1;
  cuda::Pointer base = 0;
  PLIMSOLL_TRY(call.Do(driver.address_reserve, &base, Length(size), Length(alignment),
                       cuda::Pointer{0}, uint64_t{0}));
  if ((base & mask) == 0) return AddressRange{base, size};
  PLIMSOLL_TRY(call.Do(driver.address_free, base, Length(size)));
  const Bytes wider = size + alignment;
  PLIMSOLL_TRY(call.Do(driver.address_reserve, &base, Length(wider), size_t{0}, cuda::Pointer{0},
                       uint64_t{0}));
  const cuda::Pointer aligned = (base + mask) & ~mask;
  wider_.emplace(aligned, AddressRange{base, wider});
  return AddressRange{aligned, size};
}

Status CudaMemory::ReleaseAddress(DeviceId device, AddressRange range) {
  CudaCall call(cards_, DeviceCall::kReleaseAddress, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRelease(device, range));
  const auto wider = wider_.find(range.base);
  const AddressRange whole = wider == wider_.end() ? range : wider->second;
  PLIMSOLL_TRY(call.Do(call.driver().address_free, whole.base, Length(whole.size)));
  if (wider != wider_.end()) wider_.erase(wider);
  table_.RemoveRange(range.base);
  return {};
}

Status CudaMemory::TakeCapacity(const CudaCall& call, Bytes size) {
  Bytes& used = used_[IndexOf(call.device())];
  if (capacity_ > Bytes(0) && used + size > capacity_) {
    return CallError(
        call.call(), call.device(), ErrorKind::kDoesNotFit,
        StrCat(size, " were asked for and ", capacity_ - used, " of ", capacity_, " are free"),
        "free memory, or give the device a larger capacity");
  }
  used += size;
  return {};
}

Error CudaMemory::Full(CudaCall& call, Error error) const {
  size_t free = 0;
  size_t total = 0;
  if (error.kind == ErrorKind::kDoesNotFit &&
      call.driver().memory_get_info(&free, &total) == cuda::kSuccess) {
    const Bytes own = used_[IndexOf(call.device())];
    error.why += StrCat("; of the card's ", FromDriver(total), " ", FromDriver(free),
                        " are free, this device object has ", own);
  }
  return error;
}

Result<ChunkId> CudaMemory::CreateChunk(DeviceId device, Bytes size, const ChunkOptions& options) {
  CudaCall call(cards_, DeviceCall::kCreateChunk, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckCreate(device, size));
  if (options.type == MemoryType::kHost) {
    return UnsupportedCall(DeviceCall::kCreateChunk, device, "host memory comes in plain blocks");
  }
  if (options.pages != PagePolicy::kDefault && options.pages != PagePolicy::kHuge2M) {
    return UnsupportedCall(DeviceCall::kCreateChunk, device, "its pages are of 2 MiB");
  }
  PLIMSOLL_TRY(TakeCapacity(call, size));
  cuda::AllocationProperties properties;
  properties.location.id = cards_.card(device).ordinal;
  cuda::ChunkHandle handle = 0;
  if (const Status status = call.Do(call.driver().memory_create, &handle, Length(size),
                                    &std::as_const(properties), uint64_t{0});
      !status.ok()) {
    GiveCapacityBack(device, size);
    return Full(call, status.error());
  }
  const ChunkId chunk = table_.AddChunk(device, size, options);
  handles_.emplace(chunk, handle);
  return chunk;
}

Status CudaMemory::DestroyChunk(DeviceId device, ChunkId chunk) {
  CudaCall call(cards_, DeviceCall::kDestroyChunk, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckDestroy(device, chunk));
  PLIMSOLL_TRY(call.Do(call.driver().memory_release, handles_.at(chunk)));
  GiveCapacityBack(device, table_.chunk(chunk).size);
  handles_.erase(chunk);
  table_.RemoveChunk(chunk);
  return {};
}

Status CudaMemory::Map(DeviceId device, Address at, ChunkId chunk) {
  CudaCall call(cards_, DeviceCall::kMap, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckMap(device, at, chunk));
  PLIMSOLL_TRY(call.Do(call.driver().memory_map, at, Length(table_.chunk(chunk).size), size_t{0},
                       handles_.at(chunk), uint64_t{0}));
  table_.AddMapping(at, chunk, 0);
  return {};
}

Status CudaMemory::CheckIdle(const CudaCall& call, Address at, Bytes size) const {
  const auto user = streams_.PendingUser(at, size);
  if (!user) return {};
  return call.Refused(StrCat("work pending on stream ", user->index(), " uses ", AddressText(at)),
                      "wait for it first");
}

Status CudaMemory::Unmap(DeviceId device, Address at, Bytes size) {
  CudaCall call(cards_, DeviceCall::kUnmap, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRun(DeviceCall::kUnmap, device, at, size));
  PLIMSOLL_TRY(CheckIdle(call, at, size));
  PLIMSOLL_TRY(call.Do(call.driver().memory_unmap, at, Length(size)));
  table_.RemoveMappings(at, size);
  return {};
}

Status CudaMemory::SetAccess(DeviceId device, Address at, Bytes size) {
  CudaCall call(cards_, DeviceCall::kSetAccess, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRun(DeviceCall::kSetAccess, device, at, size));
  const cuda::Ordinal own = cards_.card(device).ordinal;
  std::vector<cuda::AccessDescription> access = {{{cuda::kLocationDevice, own}}};
  bool for_peers = false;
  table_.ForEachMapping(at, size, [&](Address, const MappingRecord& mapping) {
    for_peers |= table_.chunk(mapping.chunk).options.type == MemoryType::kP2P;
  });
  for (int peer = 0; for_peers && peer < call.driver().cards(); ++peer) {
    int able = 0;
    if (peer == own) continue;
    PLIMSOLL_TRY(call.Do(call.driver().device_can_access_peer, &able, peer, own));
    if (able != 0) access.push_back({{cuda::kLocationDevice, peer}});
  }
  PLIMSOLL_TRY(call.Do(call.driver().memory_set_access, at, Length(size),
                       std::as_const(access).data(), access.size()));
  table_.ForEachMapping(at, size,
                        [](Address, MappingRecord& mapping) { mapping.accessible = true; });
  return {};
}

Result<Address> CudaMemory::AllocatePlain(DeviceId device, Bytes size, MemoryType type) {
  CudaCall call(cards_, DeviceCall::kAllocatePlain, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckAllocatePlain(device, size));
  const cuda::Driver& driver = call.driver();
  Address at = 0;
  if (type == MemoryType::kHost) {
    void* block = nullptr;
    PLIMSOLL_TRY(call.Do(driver.host_allocate, &block, Length(size),
                         cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap));
    at = reinterpret_cast<Address>(block);
  } else {
    PLIMSOLL_TRY(TakeCapacity(call, size));
    if (const Status status = call.Do(driver.memory_allocate, &at, Length(size)); !status.ok()) {
      GiveCapacityBack(device, size);
      return Full(call, status.error());
    }
  }
  table_.AddPlain(at, {device, size, type});
  return at;
}

// The driver waits for the card before it frees memory, so no lock is held meanwhile.
Status CudaMemory::FreePlain(DeviceId device, Address at) {
  CudaCall call(cards_, DeviceCall::kFreePlain, device);
  PLIMSOLL_TRY(call.status());
  PlainRecord block;
  {
    const std::lock_guard lock(mutex_);
    PLIMSOLL_TRY(table_.CheckFreePlain(device, at));
    block = table_.plain(at);
    PLIMSOLL_TRY(CheckIdle(call, at, block.size));
    table_.RemovePlain(at);
  }
  const bool of_host = block.type == MemoryType::kHost;
  const Status status = of_host ? call.Do(call.driver().host_free, reinterpret_cast<void*>(at))
                                : call.Do(call.driver().memory_free, at);
  const std::lock_guard lock(mutex_);
  if (!status.ok()) {
    table_.AddPlain(at, block);
  } else if (!of_host) {
    GiveCapacityBack(device, block.size);
  }
  return status;
}

Status CudaMemory::RegisterHost(DeviceId device, Address at, Bytes size) {
  CudaCall call(cards_, DeviceCall::kRegisterHost, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckRegister(device, at, size));
  const cuda::Driver& driver = call.driver();
  std::vector<AddressRange> runs = registrations_.Missing(at, size);
  for (size_t i = 0; i < runs.size(); ++i) {
    const Status status = call.Do(driver.host_register, reinterpret_cast<void*>(runs[i].base),
                                  Length(runs[i].size), cuda::kHostRegisterPortable);
    if (status.ok()) continue;
    for (size_t done = 0; done < i; ++done) {
      driver.host_unregister(reinterpret_cast<void*>(runs[done].base));
    }
    return status;
  }
  registrations_.Add(at, size, runs);
  table_.AddRegistered(at, {device, size, MemoryType::kHost});
  return {};
}

Status CudaMemory::UnregisterHost(DeviceId device, Address at) {
  CudaCall call(cards_, DeviceCall::kUnregisterHost, device);
  PLIMSOLL_TRY(call.status());
  const std::lock_guard lock(mutex_);
  PLIMSOLL_TRY(table_.CheckUnregister(device, at));
  const Bytes size = table_.registered(at).size;
  PLIMSOLL_TRY(CheckIdle(call, at, size));
  std::vector<AddressRange> runs = registrations_.Remove(at, size);
  while (!runs.empty()) {
    const Status status =
        call.Do(call.driver().host_unregister, reinterpret_cast<void*>(runs.back().base));
    if (!status.ok()) {
      registrations_.Add(at, size, runs);
      return status;
    }
    runs.pop_back();
  }
  table_.RemoveRegistered(at);
  return {};
}

Result<MemoryInfo> CudaMemory::Info(DeviceId device) const {
  CudaCall call(cards_, DeviceCall::kInfo, device);
  PLIMSOLL_TRY(call.status());
  size_t free = 0;
  size_t total = 0;
  PLIMSOLL_TRY(call.Do(call.driver().memory_get_info, &free, &total));
  if (capacity_ == Bytes(0)) return MemoryInfo{FromDriver(total), FromDriver(free)};
  const std::lock_guard lock(mutex_);
  return MemoryInfo{capacity_, std::min(capacity_ - used_[IndexOf(device)], FromDriver(free))};
}

Status CudaMemory::Enqueue(DeviceCall kind, DeviceId device, StreamId stream, PendingWork work,
                           const std::function<Status(CudaCall&, cuda::Stream)>& issue) {
  CudaCall call(cards_, kind, device);
  PLIMSOLL_TRY(call.status());
  CudaStreams::Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    for (Touch& touch : work.touches) PLIMSOLL_TRY(table_.CheckTouch(kind, device, touch));
    PLIMSOLL_ASSIGN(ticket, streams_.Add(call, stream, std::move(work)));
  }
  const Status status = issue(call, ticket.handle);
  streams_.Issued(call, ticket, status.ok());
  return status;
}

std::vector<AddressRange> CudaMemory::CopyPieces(Address to, Address from, Bytes size) const {
  const std::lock_guard lock(mutex_);
  std::vector<AddressRange> pieces;
  for (const AddressRange& written : registrations_.Pieces(to, size)) {
    const Address start = from + (written.base - to);
    for (const AddressRange& read : registrations_.Pieces(start, written.size)) {
      pieces.push_back({read.base - from, read.size});
    }
  }
  return pieces;
}

}  // namespace plimsoll::device
