#pragma once

#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::memory {

// The sizes of the chunks that serve a growth by `need`, all multiples of the granularity, between
// it and 1 GiB. The driver's cost follows the number of chunks; what a chunk with one small block
// in it keeps from others follows their size. So the ladder climbs with what is in use: a chunk is
// a small fraction of the memory that is there, or of the request, and equal to its neighbours.
struct ChunkLadder {
  static constexpr int64_t kOfReserved = 384;  // at least 1/384 of what is reserved
  static constexpr int64_t kOfRequest = 20;    // at least 1/20 of the request
  static constexpr Bytes kFinest = MiB(4);     // no finer, except to end exactly
  static constexpr Bytes kCoarsest = GiB(1);
  static constexpr int64_t kStep = 1024;  // a growth adds at least 1/1024 of what is reserved

  Bytes granularity;
  Bytes device_total;  // 0: not known. The last fifth of a device is cut into the finest.

  // `scarce`: the device refused before, so no byte more than needed.
  std::vector<Bytes> Sizes(Bytes need, Bytes reserved, bool scarce) const;
};

}  // namespace plimsoll::memory
