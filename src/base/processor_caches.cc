#include "base/processor_caches.h"

#include <unistd.h>

namespace plimsoll {

Bytes SecondCacheSize() {
  constexpr int64_t kUsual = int64_t{1} << 20;
#ifdef _SC_LEVEL2_CACHE_SIZE
  static const int64_t told = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (told > 0) return Bytes(told);
#endif
  return Bytes(kUsual);
}

}  // namespace plimsoll
