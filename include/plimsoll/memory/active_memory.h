#pragma once

#include <span>
#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/base/status.h"
#include "plimsoll/device/device.h"

namespace plimsoll::memory {

// One physical chunk at the address where its bytes are handed out first, its home.
struct ActiveChunk {
  device::Address home = 0;
  Bytes size;
};

// Memory that a pool lacks.
struct GrowRequest {
  Bytes size;
  bool single_chunk = false;
  bool scarce = false;  // the last attempt was refused: ask for no byte more than `size`
  bool steady = false;  // hardly a block was freed so far: what is taken now is likely to stay
};

// Device memory that is active, which is usable at an address: the face shared by the expandable
// allocator and its fallback. The caller decides which chunks are free; nothing here waits for
// pending work, so the caller has synchronised before it shrinks, unstitches or pauses.
class ActiveMemory {
 public:
  virtual ~ActiveMemory() = default;

  // New memory of at least the size, as chunks adjacent to one another in address order; adjacent
  // to the last home where that is possible.
  virtual Result<std::vector<ActiveChunk>> Grow(const GrowRequest& request) = 0;
  // Maps the chunks a second time, side by side in this order. Fails with kUnsupported where memory
  // is plain.
  virtual Result<device::Address> Stitch(std::span<const ActiveChunk> chunks) = 0;
  virtual Status Unstitch(device::Address at) = 0;
  // Gives back chunks that no stitched range maps. What failed stays, and is named by the error.
  virtual Status Shrink(const ActiveChunk& chunk) = 0;
  // Releases all physical memory and keeps every address; Resume puts new memory under them, with
  // other bytes in it. After a failure either may be called again, or the other to go back.
  virtual Status Pause() = 0;
  virtual Status Resume() = 0;

  virtual bool stitches() const = 0;
  virtual Bytes granularity() const = 0;
};

}  // namespace plimsoll::memory
