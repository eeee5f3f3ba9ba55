#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace plimsoll::kernels {

// Tells the processor that the thread only waits.
inline void RelaxProcessor() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Keeps the processor until `is_there()` or for about `nanoseconds`; whether it is there.
template <typename IsThere>
bool SpinUntil(const IsThere& is_there, int64_t nanoseconds) {
  using Clock = std::chrono::steady_clock;
  if (is_there()) return true;
  if (nanoseconds <= 0) return false;
  const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(nanoseconds);
  do {
    for (int i = 0; i < 16; ++i) {
      RelaxProcessor();
      if (is_there()) return true;
    }
  } while (Clock::now() < end);
  return is_there();
}

}  // namespace plimsoll::kernels
