#pragma once

#include <cstdint>
#include <memory>

#include "device/address_space.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::device {

// Memory that can be mapped at several addresses: a memory file, handed out in pieces. One file
// serves all chunks with pages of one size, so that chunks cost no file descriptors. Not
// thread-safe.
class ChunkFile {
 public:
  // `page` is 4 KiB for ordinary memory, 2 MiB or 1 GiB for the system's pool of such pages. Null
  // when the system cannot do it.
  static std::unique_ptr<ChunkFile> Open(Bytes page);
  ~ChunkFile();
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;

  struct Piece {
    uint64_t offset = 0;
    int error = 0;  // an errno value; then there is no piece
  };
  // Pool pages are taken from the pool at once, ordinary ones when they are first touched.
  Piece Take(Bytes size);
  void GiveBack(uint64_t offset, Bytes size);

  int descriptor() const { return descriptor_; }
  Bytes page() const { return page_; }

 private:
  ChunkFile(int descriptor, Bytes page);

  const int descriptor_;
  const Bytes page_;
  AddressSpace offsets_;
};

}  // namespace plimsoll::device
