#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace plimsoll::replay {

// The processor's counter, where there is one: fine enough for tens of nanoseconds.
inline uint64_t ReadCycles() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// What pairs of an allocation and its free are timed with.
class PairClock {
 public:
  virtual ~PairClock() = default;
  virtual uint64_t Read() = 0;            // in ticks
  virtual uint64_t overhead() const = 0;  // of reading it, in ticks
  virtual double NanosecondsPerTick() const = 0;
};

// The processor's own counter, with what reading it costs and how long a cycle is.
class CycleClock final : public PairClock {
 public:
  CycleClock() : start_cycles_(ReadCycles()), start_(std::chrono::steady_clock::now()) {
    for (int i = 0; i < 1000; ++i) {
      const uint64_t first = ReadCycles();
      overhead_ = std::min(overhead_, ReadCycles() - first);
    }
  }
  uint64_t Read() override { return ReadCycles(); }
  uint64_t overhead() const override { return overhead_; }
  // Over the time since the clock was made.
  double NanosecondsPerTick() const override {
    const auto passed = std::chrono::steady_clock::now() - start_;
    const double cycles = static_cast<double>(ReadCycles() - start_cycles_);
    return std::chrono::duration<double, std::nano>(passed).count() / std::max(1.0, cycles);
  }

 private:
  uint64_t overhead_ = ~uint64_t{0};
  uint64_t start_cycles_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace plimsoll::replay
