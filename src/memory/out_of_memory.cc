#include "plimsoll/memory/out_of_memory.h"

#include <algorithm>
#include <cmath>

#include "plimsoll/base/text.h"

namespace plimsoll::memory {

double OutOfMemoryReport::Fragmentation() const {
  if (free <= Bytes(0)) return 0;
  const double largest = static_cast<double>(std::min(largest_free_run, free).value());
  return 1 - largest / static_cast<double>(free.value());
}

std::vector<std::string> OutOfMemoryReport::Remedies() const {
  if (device_total > Bytes(0) && requested > device_total) {
    return {"ask for less: no state of this device can hold the request"};
  }
  std::vector<std::string> remedies;
  const bool limited = !limit.saturated();
  if (limited && reserved + requested > limit && requested <= device_free + cached + free) {
    remedies.push_back(StrCat("raise the limit of ", limit, " by ", reserved + requested - limit));
  }
  if (!stitches && free >= requested) {
    remedies.push_back(
        "use a device that reserves addresses, so that free pages can be joined, or ask for the "
        "largest blocks first");
  }
  if (pooled && reserved > allocated + free + cached) {
    remedies.push_back("use fewer streams: each keeps what it freed");
  }
  if (!owners.empty() && (!limited || requested <= limit)) {
    remedies.push_back(StrCat("free or shrink '", owners.front().tag, "'"));
  }
  const Bytes others = device_total - device_free - reserved;
  if (others > Bytes(0) && device_free + cached + free + others >= requested &&
      (!limited || reserved + requested <= limit)) {
    remedies.push_back(StrCat("end other programs on the device, which hold ", others));
  }
  if (remedies.empty()) remedies.push_back("ask for less or use a device with more memory");
  return remedies;
}

Error OutOfMemoryReport::ToError() const {
  Error error;
  error.kind = ErrorKind::kDoesNotFit;
  error.code = "memory.out_of_memory";
  error.what = StrCat("out of memory: cannot allocate ", requested);
  error.where = StrCat("device ", device.ordinal);
  std::string owned;
  for (const MemoryOwner& owner : owners) {
    owned += StrCat(owned.empty() ? "; held by " : ", ", "'", owner.tag, "' ", owner.bytes, " in ",
                    owner.blocks, owner.blocks == 1 ? " block" : " blocks");
  }
  error.why = StrCat(
      "reserved ", reserved, limit.saturated() ? std::string() : StrCat(" of a limit of ", limit),
      ", allocated ", allocated, ", free in the pool ", free, " with ", largest_free_run,
      " in the largest run (fragmentation ", std::round(Fragmentation() * 1000) / 10, " %)",
      cached > Bytes(0) ? StrCat(", in no pool ", cached) : std::string(),
      device_total > Bytes(0)
          ? StrCat("; the device has ", device_free, " of ", device_total, " free")
          : std::string(),
      owned, cause.empty() ? std::string() : StrCat("; ", cause));
  error.remedy = Join(Remedies(), ", or ");
  return error;
}

}  // namespace plimsoll::memory
