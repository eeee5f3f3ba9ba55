#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/workspace.h"
#include "kernels/parallel.h"
#include "plimsoll/base/bytes.h"

namespace plimsoll::kernels::cpu {

// Rows that are shared out between threads, each with scratch of its own.
class RowSlots {
 public:
  // `row_work`: of one row, in multiplications; threads that would get little get none.
  RowSlots(int64_t rows, int64_t row_work, Bytes scratch) : rows_(rows) {
    constexpr int64_t kSlotWork = 1 << 16;
    slots_ = std::clamp<int64_t>(SaturatingMultiply(rows, row_work) / kSlotWork, 1, Threads());
    slots_ = std::clamp<int64_t>(slots_, 1, std::max<int64_t>(rows, 1));
    scratch_ = scratch.RoundUp(64);
  }

  Bytes workspace() const { return scratch_ * slots_; }

  // Calls `body(begin, end, scratch)`, the scratch 64-byte aligned, until each row was in one call.
  template <typename Body>
  void Run(void* workspace, const Body& body) const {
    ParallelFor(slots_, 1, [&](int64_t first, int64_t last) {
      for (int64_t slot = first; slot < last; ++slot) {
        const int64_t begin = slot * rows_ / slots_;
        const int64_t end = (slot + 1) * rows_ / slots_;
        body(begin, end, At<>(workspace, slot * scratch_.value()));
      }
    });
  }

 private:
  int64_t rows_;
  int64_t slots_;
  Bytes scratch_;
};

}  // namespace plimsoll::kernels::cpu
