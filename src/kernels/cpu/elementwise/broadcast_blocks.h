#pragma once

#include <optional>

#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/elementwise.h"

namespace plimsoll::kernels::cpu {

// A loop over pairs whose runs would be short, since an operand broadcasts along a short axis: the
// inner axes of that operand are written out into a small buffer, which serves for as long as it
// stays the same, and runs are as long as the buffer. The output may be the memory of an input of
// its shape, which is never written out.
class BroadcastBlocks {
 public:
  // Nothing where runs are long enough, or where what is written out would serve once.
  static std::optional<BroadcastBlocks> Make(const Broadcast<2>& plan,
                                             const std::array<int64_t, 2>& bytes,
                                             int64_t made_bytes);

  void Run(const std::array<const void*, 2>& from, void* to, BinaryLoop loop) const;

 private:
  using Axes = std::vector<Broadcast<2>::Axis>;

  // Whether an operand lies in a block as the output does.
  bool IsDense(size_t operand) const;
  // Writes out `count` places of axis `axis`, counted from the split one on, and those inside.
  std::byte* WriteOut(size_t operand, size_t axis, int64_t count, const std::byte* from,
                      std::byte* to) const;

  Axes outer_;          // with as many places of the split axis as there are blocks of it
  Axes inner_;          // the first one is the split axis, whole
  int64_t piece_ = 1;   // places of the split axis in a block
  int64_t place_ = 1;   // elements of one of them
  int64_t blocks_ = 1;  // of the split axis
  int64_t all_blocks_ = 1;
  std::array<int64_t, 2> bytes_{};
  int64_t made_bytes_ = 0;
  std::array<bool, 2> dense_{};
};

}  // namespace plimsoll::kernels::cpu
