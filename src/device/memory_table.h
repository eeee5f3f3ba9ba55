#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

#include "device/address_range.h"
#include "plimsoll/device/device.h"
#include "plimsoll/device/device_call.h"

namespace plimsoll::device {

struct ChunkRecord {
  DeviceId device;
  Bytes size;
  ChunkOptions options;
  int mappings = 0;
};

struct MappingRecord {
  ChunkId chunk;
  Bytes size;
  bool accessible = false;
  uint64_t since = 0;  // how many items of work there had ever been when it was mapped
};

struct RangeRecord {
  DeviceId device;
  Bytes size;
};

struct PlainRecord {
  DeviceId device;
  Bytes size;
  MemoryType type = MemoryType::kDevice;
  uint64_t since = 0;  // how many items of work there had ever been when it was allocated
};

// What the devices of one kind have handed out, and the rules of the seam that do not depend on the
// backend: ranges, chunks, mappings and plain blocks, each with its device. A `Check` tells whether
// the call would be legal and changes nothing; its partner records that the backend has done it and
// must only follow a check that passed. Ids are never used twice, so a stale one is always caught.
// Not thread-safe. Every step costs the logarithm of the number of entries; a run of chunks, its
// length.
class MemoryTable {
 public:
  MemoryTable(int devices, Bytes granularity) : devices_(devices), granularity_(granularity) {}

  Bytes granularity() const { return granularity_; }
  Status CheckDevice(DeviceCall call, DeviceId device) const;

  Status CheckReserve(DeviceId device, Bytes size, Bytes alignment) const;
  void AddRange(DeviceId device, AddressRange range);
  Status CheckRelease(DeviceId device, AddressRange range) const;
  void RemoveRange(Address base) { ranges_.erase(base); }

  Status CheckCreate(DeviceId device, Bytes size) const;
  ChunkId AddChunk(DeviceId device, Bytes size, const ChunkOptions& options);
  Status CheckDestroy(DeviceId device, ChunkId chunk) const;
  void RemoveChunk(ChunkId chunk) { chunks_.erase(chunk); }
  const ChunkRecord& chunk(ChunkId chunk) const { return chunks_.at(chunk); }

  Status CheckMap(DeviceId device, Address at, ChunkId chunk) const;
  void AddMapping(Address at, ChunkId chunk, uint64_t since);
  // Whether [at, at + size) is a run of whole chunks of this device, mapped without a gap.
  Status CheckRun(DeviceCall call, DeviceId device, Address at, Bytes size) const;
  // Calls `visit` with each mapping of a run that passed CheckRun, from low to high.
  void ForEachMapping(Address at, Bytes size,
                      const std::function<void(Address, MappingRecord&)>& visit);
  void RemoveMappings(Address at, Bytes size);

  Status CheckAllocatePlain(DeviceId device, Bytes size) const;
  void AddPlain(Address at, const PlainRecord& block) { plain_.emplace(at, block); }
  Status CheckFreePlain(DeviceId device, Address at) const;
  void RemovePlain(Address at) { plain_.erase(at); }
  const PlainRecord& plain(Address at) const { return plain_.at(at); }

  Status CheckRegister(DeviceId device, Address at, Bytes size) const;
  void AddRegistered(Address at, const PlainRecord& block) { registered_.emplace(at, block); }
  Status CheckUnregister(DeviceId device, Address at) const;
  void RemoveRegistered(Address at) { registered_.erase(at); }
  const PlainRecord& registered(Address at) const { return registered_.at(at); }

  // Whether work may touch all of this: mapped with access, or inside a plain block. Nothing is
  // touched when the size is 0. Narrows the reach to what lies there now, so that work which is
  // checked again later is not let into memory of another sort.
  Status CheckTouch(DeviceCall call, DeviceId device, Touch& touch) const;

  const std::map<Address, RangeRecord>& ranges() const { return ranges_; }
  const std::unordered_map<ChunkId, ChunkRecord>& chunks() const { return chunks_; }
  const std::map<Address, MappingRecord>& mappings() const { return mappings_; }
  const std::map<Address, PlainRecord>& plain_blocks() const { return plain_; }
  const std::map<Address, PlainRecord>& registered_blocks() const { return registered_; }

 private:
  const int devices_;
  const Bytes granularity_;
  size_t next_chunk_ = 0;
  std::map<Address, RangeRecord> ranges_;
  std::unordered_map<ChunkId, ChunkRecord> chunks_;
  std::map<Address, MappingRecord> mappings_;
  std::map<Address, PlainRecord> plain_;
  std::map<Address, PlainRecord> registered_;  // the host's own memory
};

}  // namespace plimsoll::device
