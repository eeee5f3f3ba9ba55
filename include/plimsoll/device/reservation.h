#pragma once

#include "plimsoll/base/bytes.h"

namespace plimsoll::device {

// How many addresses a growing allocator reserves when its owner names no size: far more than any
// device holds, since addresses cost nothing. The thread sanitizer shadows every reserved byte and
// crashes on a tebibyte, so there it is 64 GiB.
constexpr Bytes DefaultReservation() {
#if defined(__SANITIZE_THREAD__)
  return GiB(64);
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return GiB(64);
#else
  return GiB(1024);
#endif
#else
  return GiB(1024);
#endif
}

}  // namespace plimsoll::device
