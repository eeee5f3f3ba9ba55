#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plimsoll/base/status.h"

namespace plimsoll::plan {

// The geometric heart of static memory reuse: rectangles in address and time. Plain integers, since
// this is the inner loop; everything around it speaks Bytes and Offset.
struct PackingItem {
  int64_t size = 0;   // bytes; 0 takes no room
  int32_t begin = 0;  // life [begin, end)
  int32_t end = 0;
  int64_t alignment = 1;  // of the offset
  int64_t fixed = -1;     // its offset when not free, else -1
};

// A set of items to be placed so that no two that live together overlap. Sizes sum to less than
// 2^62 (checked by the caller). Callers align sizes themselves if they want them aligned.
struct Packing {
  std::vector<PackingItem> items;
};

struct PackingEffort {
  int64_t steps = 0;       // search steps; the same steps give the same answer everywhere
  double deadline_ms = 0;  // 0: none; only ever a cap
  int64_t capacity = -1;   // stop as soon as a placement is at most this high; -1: minimise
  double good_enough = 0;  // or at most this share above what is proven to be needed
  const std::atomic<bool>* stop = nullptr;  // true: cut it, as the deadline does

  bool Stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }

  // The height that ends the search.
  int64_t EnoughHeight(int64_t lower_bound) const {
    const auto more = static_cast<int64_t>(good_enough * static_cast<double>(lower_bound));
    return std::max(capacity, lower_bound + more);
  }
};

struct PackingAnswer {
  std::vector<int64_t> offsets;  // one per item; empty when no placement was found
  int64_t height = 0;            // peak of `offsets`
  int64_t lower_bound = 0;       // proven: no placement is lower
  bool optimal = false;          // proven: height is the minimum
  bool infeasible = false;       // proven: nothing fits into effort.capacity
  bool deadline_hit = false;     // the deadline cut the search; the answer may differ elsewhere
  int64_t steps = 0;             // spent
};

}  // namespace plimsoll::plan
