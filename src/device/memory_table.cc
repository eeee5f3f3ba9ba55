#include "device/memory_table.h"

#include <bit>
#include <cassert>
#include <iterator>
#include <utility>

#include "plimsoll/base/text.h"

namespace plimsoll::device {
namespace {

uint64_t Count(Bytes size) { return static_cast<uint64_t>(size.value()); }

bool IsMultiple(uint64_t value, Bytes unit) { return value % Count(unit) == 0; }

// The entry of an ordered table whose [key, key + size) holds the address, or end.
template <typename Map>
auto FindHolder(Map& table, Address at) {
  auto next = table.upper_bound(at);
  if (next == table.begin()) return table.end();
  auto found = std::prev(next);
  return at - found->first < Count(found->second.size) ? found : table.end();
}

// The first entry of an ordered table that shares a byte with [at, at + size), or end.
template <typename Map>
auto FindOverlap(Map& table, Address at, Bytes size) {
  auto holder = FindHolder(table, at);
  if (holder != table.end()) return holder;
  auto next = table.lower_bound(at);
  return next != table.end() && next->first - at < Count(size) ? next : table.end();
}

Error Refused(DeviceCall call, DeviceId device, std::string why, std::string remedy = "") {
  return CallError(call, device, ErrorKind::kRunFailed, std::move(why), std::move(remedy));
}

}  // namespace

Status MemoryTable::CheckDevice(DeviceCall call, DeviceId device) const {
  if (device.ordinal >= 0 && device.ordinal < devices_) return {};
  return Refused(call, device, StrCat("there are ", devices_, " devices, numbered from 0"),
                 "name one of them");
}

Status MemoryTable::CheckReserve(DeviceId device, Bytes size, Bytes alignment) const {
  constexpr DeviceCall kCall = DeviceCall::kReserveAddress;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  if (size <= Bytes(0) || !IsMultiple(Count(size), granularity_)) {
    return Refused(kCall, device,
                   StrCat(size.value(), " bytes is no positive multiple of ", granularity_),
                   "round the size up to the granularity");
  }
  if (alignment < Bytes(0) || (alignment > Bytes(0) && !std::has_single_bit(Count(alignment)))) {
    return Refused(kCall, device,
                   StrCat("the alignment ", alignment.value(), " is no power of two"),
                   "use 0 for the granularity, or a power of two");
  }
  return {};
}

void MemoryTable::AddRange(DeviceId device, AddressRange range) {
  assert(FindOverlap(ranges_, range.base, range.size) == ranges_.end());
  ranges_.emplace(range.base, RangeRecord{device, range.size});
}

Status MemoryTable::CheckRelease(DeviceId device, AddressRange range) const {
  constexpr DeviceCall kCall = DeviceCall::kReleaseAddress;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  const auto found = ranges_.find(range.base);
  if (found == ranges_.end() || found->second.device != device ||
      found->second.size != range.size) {
    return Refused(kCall, device,
                   StrCat(AddressText(range.base), " with ", range.size.value(),
                          " bytes is no range reserved on this device"),
                   "release exactly what was reserved, once");
  }
  const auto mapping = FindOverlap(mappings_, range.base, range.size);
  if (mapping != mappings_.end()) {
    return Refused(kCall, device, StrCat("memory is still mapped at ", AddressText(mapping->first)),
                   "unmap it first");
  }
  return {};
}

Status MemoryTable::CheckCreate(DeviceId device, Bytes size) const {
  constexpr DeviceCall kCall = DeviceCall::kCreateChunk;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  if (size > Bytes(0) && IsMultiple(Count(size), granularity_)) return {};
  return Refused(kCall, device,
                 StrCat(size.value(), " bytes is no positive multiple of ", granularity_),
                 "round the size up to the granularity");
}

ChunkId MemoryTable::AddChunk(DeviceId device, Bytes size, const ChunkOptions& options) {
  const ChunkId chunk(next_chunk_++);
  chunks_.emplace(chunk, ChunkRecord{device, size, options});
  return chunk;
}

Status MemoryTable::CheckDestroy(DeviceId device, ChunkId chunk) const {
  constexpr DeviceCall kCall = DeviceCall::kDestroyChunk;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  const auto found = chunks_.find(chunk);
  if (found == chunks_.end() || found->second.device != device) {
    return Refused(kCall, device, "no such chunk on this device", "destroy a chunk once");
  }
  if (found->second.mappings > 0) {
    return Refused(kCall, device,
                   StrCat("the chunk is still mapped at ", found->second.mappings, " addresses"),
                   "unmap it first");
  }
  return {};
}

Status MemoryTable::CheckMap(DeviceId device, Address at, ChunkId chunk) const {
  constexpr DeviceCall kCall = DeviceCall::kMap;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  const auto found = chunks_.find(chunk);
  if (found == chunks_.end() || found->second.device != device) {
    return Refused(kCall, device, "no such chunk on this device");
  }
  const ChunkRecord& record = found->second;
  if (!record.options.mapped_twice && record.mappings > 0) {
    return Refused(kCall, device, "the chunk is mapped already",
                   "create it with mapped_twice if it must appear at two addresses");
  }
  if (!IsMultiple(at, granularity_)) {
    return Refused(kCall, device,
                   StrCat(AddressText(at), " is no multiple of the granularity ", granularity_));
  }
  const auto range = FindHolder(ranges_, at);
  if (range == ranges_.end() || range->second.device != device ||
      Count(range->second.size) - (at - range->first) < Count(record.size)) {
    return Refused(kCall, device,
                   StrCat(AddressText(at), " with ", record.size.value(),
                          " bytes is not inside a range reserved on this device"),
                   "reserve the addresses first");
  }
  const auto mapping = FindOverlap(mappings_, at, record.size);
  if (mapping != mappings_.end()) {
    return Refused(kCall, device, StrCat("memory is mapped at ", AddressText(mapping->first)),
                   "unmap it first, or map elsewhere");
  }
  return {};
}

void MemoryTable::AddMapping(Address at, ChunkId chunk, uint64_t since) {
  ChunkRecord& record = chunks_.at(chunk);
  ++record.mappings;
  mappings_.emplace(at, MappingRecord{chunk, record.size, false, since});
}

Status MemoryTable::CheckRun(DeviceCall call, DeviceId device, Address at, Bytes size) const {
  PLIMSOLL_TRY(CheckDevice(call, device));
  const auto range = FindHolder(ranges_, at);
  if (size <= Bytes(0) || range == ranges_.end() || range->second.device != device ||
      Count(range->second.size) - (at - range->first) < Count(size)) {
    return Refused(call, device,
                   StrCat(AddressText(at), " with ", size.value(),
                          " bytes is not inside a range reserved on this device"));
  }
  const Address end = at + Count(size);
  auto mapping = mappings_.find(at);
  for (Address next = at; next != end; ++mapping) {
    if (mapping == mappings_.end() || mapping->first != next ||
        Count(mapping->second.size) > end - next) {
      return Refused(call, device,
                     StrCat("no whole chunk is mapped at ", AddressText(next), " within ",
                            AddressText(at), " with ", size.value(), " bytes"),
                     "name whole chunks, mapped without a gap");
    }
    next += Count(mapping->second.size);
  }
  return {};
}

void MemoryTable::ForEachMapping(Address at, Bytes size,
                                 const std::function<void(Address, MappingRecord&)>& visit) {
  const Address end = at + Count(size);
  for (auto mapping = mappings_.find(at); mapping != mappings_.end() && mapping->first < end;
       ++mapping) {
    visit(mapping->first, mapping->second);
  }
}

void MemoryTable::RemoveMappings(Address at, Bytes size) {
  const auto first = mappings_.find(at);
  const auto last = mappings_.lower_bound(at + Count(size));
  for (auto mapping = first; mapping != last; ++mapping) {
    --chunks_.at(mapping->second.chunk).mappings;
  }
  mappings_.erase(first, last);
}

Status MemoryTable::CheckAllocatePlain(DeviceId device, Bytes size) const {
  constexpr DeviceCall kCall = DeviceCall::kAllocatePlain;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  if (size > Bytes(0)) return {};
  return Refused(kCall, device, StrCat("the size is ", size.value(), " bytes"),
                 "ask for at least one byte");
}

Status MemoryTable::CheckFreePlain(DeviceId device, Address at) const {
  constexpr DeviceCall kCall = DeviceCall::kFreePlain;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  const auto found = plain_.find(at);
  if (found != plain_.end() && found->second.device == device) return {};
  return Refused(kCall, device, StrCat(AddressText(at), " is no block allocated on this device"),
                 "free a block once, by the address it was given");
}

Status MemoryTable::CheckRegister(DeviceId device, Address at, Bytes size) const {
  constexpr DeviceCall kCall = DeviceCall::kRegisterHost;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  const auto refuse = [&](std::string why, std::string remedy) {
    return Refused(kCall, device,
                   StrCat(AddressText(at), " with ", size.value(), " bytes: ", std::move(why)),
                   std::move(remedy));
  };
  if (at == 0 || size <= Bytes(0) || at + Count(size) < at) {
    return refuse("no memory can lie there", "name memory that the host has");
  }
  if (FindOverlap(registered_, at, size) != registered_.end()) {
    return refuse("some of it is registered already", "register memory once");
  }
  if (FindOverlap(ranges_, at, size) != ranges_.end() ||
      FindOverlap(plain_, at, size) != plain_.end()) {
    return refuse("some of it is memory of a device", "register only memory that the host has");
  }
  return {};
}

Status MemoryTable::CheckUnregister(DeviceId device, Address at) const {
  constexpr DeviceCall kCall = DeviceCall::kUnregisterHost;
  PLIMSOLL_TRY(CheckDevice(kCall, device));
  const auto found = registered_.find(at);
  if (found != registered_.end() && found->second.device == device) return {};
  return Refused(kCall, device,
                 StrCat("no memory from ", AddressText(at), " is registered with this device"),
                 "unregister memory once, by its first address");
}

Status MemoryTable::CheckTouch(DeviceCall call, DeviceId device, Touch& touch) const {
  const Address at = touch.range.base;
  const Bytes size = touch.range.size;
  const auto refuse = [&](std::string why) {
    return Refused(call, device, StrCat(AddressText(at), " with ", size.value(), " bytes: ", why));
  };
  if (size < Bytes(0)) return refuse("the size is negative");
  if (size == Bytes(0)) return {};
  if (at == 0) return refuse("the address is null");
  if (at + Count(size) < at) return refuse("it wraps around the end of all addresses");
  const auto in_reach = [&](DeviceId owner) {
    if (touch.reach == Reach::kOwnDevice && owner != device) return false;
    if (touch.reach == Reach::kAnywhere) touch.reach = Reach::kAnyDevice;
    return true;
  };
  if (const auto block = FindHolder(plain_, at); block != plain_.end()) {
    if (!in_reach(block->second.device)) return refuse("it belongs to another device");
    if (Count(block->second.size) - (at - block->first) >= Count(size)) return {};
    return refuse("it reaches beyond its block");
  }
  const auto range = FindHolder(ranges_, at);
  if (range == ranges_.end()) {
    if (touch.reach == Reach::kAnywhere && FindOverlap(ranges_, at, size) == ranges_.end() &&
        FindOverlap(plain_, at, size) == plain_.end()) {
      return {};
    }
    return refuse("no device memory lies there");
  }
  if (!in_reach(range->second.device)) return refuse("it belongs to another device");
  const Address end = at + Count(size);
  auto mapping = FindHolder(mappings_, at);
  for (Address next = at; next < end; ++mapping) {
    if (mapping == mappings_.end() || next < mapping->first) {
      return refuse(StrCat("nothing is mapped at ", AddressText(next)));
    }
    if (!mapping->second.accessible) {
      return refuse(StrCat("no access was given at ", AddressText(mapping->first)));
    }
    next = mapping->first + Count(mapping->second.size);
  }
  return {};
}

}  // namespace plimsoll::device
