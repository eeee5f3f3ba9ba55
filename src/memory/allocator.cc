#include "plimsoll/memory/allocator.h"

#include <bit>

#include "plimsoll/base/text.h"

namespace plimsoll::memory {

Status CheckRequest(const Request& request, Bytes granularity) {
  if (request.size < Bytes(0)) {
    return Error{ErrorKind::kUsage,          "memory.bad_size",
                 "cannot allocate",          StrCat("request of ", request.size.value(), " bytes"),
                 "a size is never negative", "check the arithmetic that led to the size"};
  }
  const int64_t alignment = request.alignment.value();
  if (alignment <= 0 || !std::has_single_bit(static_cast<uint64_t>(alignment)) ||
      request.alignment > granularity) {
    return Error{ErrorKind::kUsage,
                 "memory.bad_alignment",
                 "cannot allocate",
                 StrCat("alignment ", alignment),
                 StrCat("an alignment is a power of two up to ", granularity.value()),
                 "leave it out for 512"};
  }
  return Status();
}

}  // namespace plimsoll::memory
