#pragma once

#include <map>
#include <memory>

#include "device/cpu/chunk_file.h"
#include "plimsoll/device/device.h"

namespace plimsoll::device {

// Where the bytes of one chunk of the cpu device are. A piece of a file stays in the file.
// Anonymous memory is at the address where it is mapped, and at `home` while it is not.
struct StoredChunk {
  Bytes size;
  PagePolicy pages = PagePolicy::kDefault;
  ChunkFile* file = nullptr;  // null: anonymous
  uint64_t offset = 0;
  Address home = 0;             // 0: mapped, or without bytes so far
  bool was_accessible = false;  // so it may have bytes worth keeping
};

// Makes the physical side of the cpu device's chunks, from the kind of memory that their options
// ask for, and moves it to its addresses and away. Knows no rules: what it is asked for is legal.
// Not thread-safe. Errors of system calls come as errno values, 0 for none.
class ChunkStorage {
 public:
  explicit ChunkStorage(bool huge_by_default) : huge_by_default_(huge_by_default) {}

  Result<StoredChunk> Create(DeviceId device, Bytes size, const ChunkOptions& options);
  void Destroy(const StoredChunk& chunk);
  int Map(StoredChunk& chunk, Address at);
  // Saves the bytes of a chunk mapped here that is about to be cleared away, and the way back.
  int MoveHome(StoredChunk& chunk, Address at);
  int MoveBack(StoredChunk& chunk, Address at);
  // To be told after access was given; the first time, default pages are made huge where possible.
  void BecameAccessible(StoredChunk& chunk, Address at);

 private:
  Result<StoredChunk> FromPool(DeviceId device, Bytes size, PagePolicy pages, Bytes page);
  Result<StoredChunk> Transparent(DeviceId device, Bytes size, bool mapped_twice);
  Result<StoredChunk> FromFile(DeviceId device, Bytes size, PagePolicy pages);
  ChunkFile* File(Bytes page);

  const bool huge_by_default_;
  std::map<Bytes, std::unique_ptr<ChunkFile>> files_;  // by size of page
};

}  // namespace plimsoll::device
