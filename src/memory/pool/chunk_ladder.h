#pragma once

#include <vector>

#include "plimsoll/base/bytes.h"
#include "plimsoll/memory/active_memory.h"

namespace plimsoll::memory {

// The sizes of the chunks that serve a growth, all multiples of the granularity, between it and
// 1 GiB. The driver's cost follows the number of chunks; what a chunk with one small block in it
// keeps from others follows their size. So the ladder climbs with what is in use: a chunk is a
// small fraction of the memory that is there, or of the request, and equal to its neighbours. A
// request counts in full while the program is steady, since what stays keeps nothing from others.
// No chunk is more than a small fraction of the device: where little is to be had, little is lost.
struct ChunkLadder {
  static constexpr int64_t kOfReserved = 384;       // at least 1/384 of what is reserved
  static constexpr int64_t kOfRequest = 22;         // at least 1/22 of the request,
  static constexpr Bytes kMostOfRequest = MiB(12);  // as far as that
  static constexpr int64_t kOfSteadyRequest = 20;
  static constexpr Bytes kFinest = MiB(6);         // no finer, except to end exactly
  static constexpr Bytes kFinestSteady = MiB(12);  // nor this, where what is taken stays
  static constexpr Bytes kCoarsest = GiB(1);
  static constexpr int64_t kOfDevice = 1024;   // at most 1/1024 of the device
  static constexpr int64_t kStep = 1024;       // a growth adds at least 1/1024 of what is reserved,
  static constexpr int64_t kSteadyStep = 384;  // or 1/384 where what is taken stays,
  static constexpr Bytes kStepUnit = MiB(2);   // rounded down to this

  Bytes granularity;
  Bytes device_total;  // 0: not known. The last fifth of a device is cut into the finest.

  std::vector<Bytes> Sizes(const GrowRequest& request, Bytes reserved) const;

 private:
  Bytes Rung(Bytes need, Bytes reserved, bool steady) const;
};

}  // namespace plimsoll::memory
