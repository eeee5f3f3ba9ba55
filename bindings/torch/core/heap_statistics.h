#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "plimsoll/base/bytes.h"

namespace plimsoll::pytorch {

// A counter as PyTorch keeps them: what is now, the most there ever was, and all that came and
// went.
struct Counter {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t allocated = 0;
  int64_t freed = 0;

  void Add(int64_t amount) {
    current += amount;
    allocated += amount;
    peak = std::max(peak, current);
  }
  void Subtract(int64_t amount) {
    current -= amount;
    freed += amount;
  }
  void ResetPeak() { peak = current; }
  void ResetAccumulated() { allocated = freed = 0; }
};

// By PyTorch's kinds: all blocks, those of at most 1 MiB, larger ones.
using Counters = std::array<Counter, 3>;
inline constexpr int64_t kLargestSmallBlock = int64_t{1} << 20;

// The block's bytes are counted in the units that memory is cut in.
inline constexpr int64_t kBlockUnit = 512;
constexpr int64_t BlockBytes(int64_t requested) {
  return std::max<int64_t>(Bytes(requested).RoundUp(kBlockUnit).value(), kBlockUnit);
}

// What one device's memory was used for. Names are those of PyTorch's memory_stats.
struct HeapStatistics {
  Counters allocation;
  Counters allocated_bytes;
  Counters requested_bytes;
  Counter segment;  // physical chunks
  Counter reserved_bytes;
  int64_t pending_blocks = 0;  // freed, and waited for by other streams
  int64_t pending_bytes = 0;
  int64_t alloc_retries = 0;
  int64_t ooms = 0;
  int64_t sync_all_streams = 0;
  int64_t stream_peaks = 0;  // bytes: each stream's own peak, summed up
  int64_t streams = 0;
  int64_t largest_free = 0;  // bytes that need no call of the device
  int64_t pool_bytes = 0;    // reserved by private pools
  int64_t limit = 0;         // bytes; 0: none

  void Took(int64_t requested) {
    Count(requested, [](Counter& counter, int64_t amount) { counter.Add(amount); });
  }
  void Gave(int64_t requested) {
    Count(requested, [](Counter& counter, int64_t amount) { counter.Subtract(amount); });
  }
  template <typename Change>  // a member function of Counter
  void ChangeAll(Change change) {
    for (Counters* counters : {&allocation, &allocated_bytes, &requested_bytes}) {
      for (Counter& counter : *counters) (counter.*change)();
    }
    (segment.*change)();
    (reserved_bytes.*change)();
  }

 private:
  template <typename Change>
  void Count(int64_t requested, const Change& change) {
    const int64_t bytes = BlockBytes(requested);
    for (const size_t kind : {size_t{0}, bytes <= kLargestSmallBlock ? size_t{1} : size_t{2}}) {
      change(allocation[kind], 1);
      change(allocated_bytes[kind], bytes);
      change(requested_bytes[kind], requested);
    }
  }
};

}  // namespace plimsoll::pytorch
