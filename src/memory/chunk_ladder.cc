#include "memory/chunk_ladder.h"

#include <algorithm>

namespace plimsoll::memory {

std::vector<Bytes> ChunkLadder::Sizes(Bytes need, Bytes reserved, bool scarce) const {
  const int64_t unit = granularity.value();
  const auto units_of = [&](Bytes size) { return size.RoundUp(unit).value() / unit; };
  if (!scarce) need = std::max(need, Bytes(reserved.value() / kStep / unit * unit));
  const bool filling = device_total > Bytes(0) && (device_total - reserved) * 4 < reserved;
  const Bytes rung = filling ? granularity
                             : std::max({kFinest, Bytes(reserved.value() / kOfReserved),
                                         Bytes(need.value() / kOfRequest), granularity});
  const int64_t units_of_rung = std::max<int64_t>(1, std::min(rung, kCoarsest).value() / unit);
  int64_t left = units_of(need);
  int64_t count = (left + units_of_rung - 1) / units_of_rung;
  std::vector<Bytes> sizes;
  sizes.reserve(static_cast<size_t>(count));
  for (; count > 0; --count) {
    const int64_t units = (left + count - 1) / count;
    sizes.push_back(granularity * units);
    left -= units;
  }
  return sizes;
}

}  // namespace plimsoll::memory
