#include "engine/memory/area_memory.h"

#include <algorithm>

#include "plimsoll/base/log.h"
#include "plimsoll/base/text.h"

namespace plimsoll::engine {
namespace {

// Addresses cost nothing, and a range cannot be made longer in place.
constexpr Bytes kLeastRange = GiB(16);
constexpr int64_t kRoomToGrow = 16;

device::MemoryType DeviceType(plan::MemoryType type) {
  switch (type) {
    case plan::MemoryType::kP2pDdr:
      return device::MemoryType::kP2P;
    case plan::MemoryType::kHost:
      return device::MemoryType::kHost;
    default:
      return device::MemoryType::kDevice;
  }
}

void Warn(const Status& status) {
  if (!status.ok()) Log(LogLevel::kWarning, status.error().Text());
}

Error CannotStay(const Area& area, Bytes held, std::string why) {
  return {.kind = ErrorKind::kDoesNotFit,
          .code = "run.stable_address",
          .what = "the run was refused",
          .where = area.key.empty() ? "fixed addresses" : area.key,
          .why = StrCat("it takes ", area.bytes, " and must keep the address where it has ", held,
                        ": ", why),
          .remedy = "run the largest shapes first, or list them as gears (dynamic_dims)"};
}

}  // namespace

AreaMemory::AreaMemory(std::shared_ptr<device::Device> device, device::DeviceId id,
                       std::shared_ptr<MemoryLedger> ledger)
    : device_(std::move(device)), id_(id), ledger_(std::move(ledger)) {}

AreaMemory::~AreaMemory() {
  if (held_.empty()) return;
  Warn(device_->SynchronizeDevice(id_));
  for (auto& [key, held] : held_) GiveBack(held);
}

// `asked`: how much of it somebody needs, from now on.
void AreaMemory::Count(Held& held, Bytes asked, Bytes reserved) {
  ledger_->CountArea(held.of_host, asked - held.asked, reserved);
  held.asked = asked;
}

Result<std::byte*> AreaMemory::Take(const Area& area) {
  Held& held = held_[{area.type, area.stable, area.key}];
  const auto base = [&] { return reinterpret_cast<std::byte*>(held.base); };
  held.of_host = area.type == plan::MemoryType::kHost;
  if (area.bytes <= held.size) {
    Count(held, std::max(held.asked, area.bytes), Bytes(0));
    return base();
  }
  const device::MemoryType type = DeviceType(area.type);
  // Ranges are the device's: what the host touches must lie where it reaches it.
  const bool reserves = !held.of_host || device_->Properties(id_).host_reachable;
  if (area.grows && reserves && held.size == Bytes(0) && held.range.size == Bytes(0)) {
    PLIMSOLL_TRY(Reserve(held, area.bytes));
  }
  if (held.range.size > Bytes(0)) {
    if (area.bytes > held.range.size) {
      return CannotStay(area, held.size, StrCat(held.range.size, " of addresses are reserved"));
    }
    PLIMSOLL_TRY(Grow(held, area.bytes, type));
    return base();
  }
  if (held.size > Bytes(0)) {
    if (area.stable)
      return CannotStay(area, held.size,
                        reserves ? "the device cannot reserve addresses"
                                 : "the host does not reach addresses that the device reserves");
    PLIMSOLL_TRY(device_->SynchronizeDevice(id_));
    PLIMSOLL_TRY(FreePlain(held));
  }
  PLIMSOLL_TRY(TakePlain(held, area.bytes, type));
  return base();
}

Status AreaMemory::Reserve(Held& held, Bytes size) {
  const Bytes granularity = device_->memory().Granularity(id_);
  const Bytes wanted =
      std::max(kLeastRange, size * kRoomToGrow).RoundUp(std::max<int64_t>(1, granularity.value()));
  const auto range = device_->memory().ReserveAddressIfAble(id_, wanted, Bytes(0));
  if (!range.ok()) {
    if (range.error().kind == ErrorKind::kUnsupported) return {};
    return range.error();
  }
  held.range = *range;
  held.base = range->base;
  return {};
}

Status AreaMemory::Grow(Held& held, Bytes size, device::MemoryType type) {
  device::DeviceMemory& memory = device_->memory();
  const Bytes more = (size - held.size).RoundUp(memory.Granularity(id_).value());
  const device::Address at = held.base + static_cast<device::Address>(held.size.value());
  PLIMSOLL_ASSIGN(const device::ChunkId chunk,
                  memory.CreateChunk(id_, more, {.type = type, .mapped_twice = false}));
  if (Status mapped = memory.Map(id_, at, chunk); !mapped.ok()) {
    Warn(memory.DestroyChunk(id_, chunk));
    return mapped;
  }
  if (Status allowed = memory.SetAccess(id_, at, more); !allowed.ok()) {
    Warn(memory.Unmap(id_, at, more));
    Warn(memory.DestroyChunk(id_, chunk));
    return allowed;
  }
  held.chunks.push_back(chunk);
  held.chunk_sizes.push_back(more);
  held.size += more;
  Count(held, size, more);
  return {};
}

Status AreaMemory::TakePlain(Held& held, Bytes size, device::MemoryType type) {
  PLIMSOLL_ASSIGN(held.base, device_->memory().AllocatePlain(id_, size, type));
  held.size = size;
  Count(held, size, size);
  return {};
}

Status AreaMemory::FreePlain(Held& held) {
  PLIMSOLL_TRY(device_->memory().FreePlain(id_, held.base));
  Count(held, Bytes(0), Bytes(0) - held.size);
  held.base = 0;
  held.size = Bytes(0);
  return {};
}

// At the end, when a device that refuses leaves nothing to be done about it.
void AreaMemory::GiveBack(Held& held) {
  device::DeviceMemory& memory = device_->memory();
  if (held.range.size > Bytes(0)) {
    device::Address at = held.base;
    for (size_t i = 0; i < held.chunks.size(); ++i) {
      Warn(memory.Unmap(id_, at, held.chunk_sizes[i]));
      Warn(memory.DestroyChunk(id_, held.chunks[i]));
      at += static_cast<device::Address>(held.chunk_sizes[i].value());
    }
    Warn(memory.ReleaseAddress(id_, held.range));
    Count(held, Bytes(0), Bytes(0) - held.size);
  } else if (held.size > Bytes(0)) {
    Warn(FreePlain(held));
  }
}

}  // namespace plimsoll::engine
