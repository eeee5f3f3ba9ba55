#include "memory/pool/chunk_ladder.h"

#include <algorithm>

namespace plimsoll::memory {

Bytes ChunkLadder::Rung(Bytes need, Bytes reserved, bool steady) const {
  const bool known = device_total > Bytes(0);
  if (known && (device_total - reserved) * 4 < reserved) return granularity;
  const Bytes of_request = steady ? Bytes(need.value() / kOfSteadyRequest)
                                  : std::min(Bytes(need.value() / kOfRequest), kMostOfRequest);
  const Bytes rung = std::max(
      {steady ? kFinestSteady : kFinest, Bytes(reserved.value() / kOfReserved), of_request});
  const Bytes most =
      known ? std::max(granularity, Bytes(device_total.value() / kOfDevice)) : kCoarsest;
  return std::min({rung, most, kCoarsest});
}

std::vector<Bytes> ChunkLadder::Sizes(const GrowRequest& request, Bytes reserved) const {
  const int64_t unit = granularity.value();
  Bytes need = request.size;
  if (!request.scarce) {
    const int64_t step = reserved.value() / (request.steady ? kSteadyStep : kStep);
    need = std::max(need, kStepUnit * (step / kStepUnit.value()));
  }
  const int64_t units_of_rung =
      std::max<int64_t>(1, Rung(need, reserved, request.steady).value() / unit);
  int64_t left = need.RoundUp(unit).value() / unit;
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
