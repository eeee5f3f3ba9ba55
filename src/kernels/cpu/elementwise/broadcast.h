#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::kernels::cpu {

// How kOperands dense tensors lie under one output shape by numpy's rules: walks the output's
// elements in order and tells where each operand's elements lie. Axes that all operands walk alike
// are one, so a plain sum of equal shapes is one run. Const after Make; any number of threads walk.
template <size_t kOperands>
class Broadcast {
 public:
  static constexpr size_t kMaximumRank = 32;  // of what is left when axes are merged

  using Steps = std::array<int64_t, kOperands>;

  struct Axis {
    int64_t extent = 1;
    Steps step{};
  };

  // Operands must broadcast to the output. Nothing when more than kMaximumRank axes remain.
  static std::optional<Broadcast> Make(
      std::span<const int64_t> output,
      const std::array<std::span<const int64_t>, kOperands>& operands) {
    Broadcast made;
    Steps dense;
    dense.fill(1);
    std::vector<Axis> from_inside;
    for (size_t back = 0; back < output.size(); ++back) {
      Axis axis{output[output.size() - 1 - back], {}};
      for (size_t n = 0; n < kOperands; ++n) {
        const std::span<const int64_t> dims = operands[n];
        const int64_t extent = back < dims.size() ? dims[dims.size() - 1 - back] : 1;
        axis.step[n] = extent == 1 ? 0 : dense[n];
        dense[n] *= extent;
      }
      made.count_ *= axis.extent;
      if (axis.extent == 1) continue;
      if (!from_inside.empty() && Continues(axis, from_inside.back())) {
        from_inside.back().extent *= axis.extent;
      } else {
        from_inside.push_back(axis);
      }
    }
    if (from_inside.empty()) from_inside.push_back(Axis{1, {}});
    if (from_inside.size() > kMaximumRank) return std::nullopt;
    made.axes_.assign(from_inside.rbegin(), from_inside.rend());
    return made;
  }

  int64_t count() const { return count_; }
  // Outermost first, never empty.
  const std::vector<Axis>& axes() const { return axes_; }

  // Calls body(position, count, offsets, steps) for runs that make up [begin, end) of the output:
  // operand n has the run's first element at offsets[n] and moves by steps[n], 0 or 1.
  template <typename Body>
  void ForEachRun(int64_t begin, int64_t end, const Body& body) const {
    if (begin >= end) return;
    const size_t innermost = axes_.size() - 1;
    const Axis& inner = axes_[innermost];
    std::array<int64_t, kMaximumRank> index;
    Steps offsets{};
    int64_t rest = begin;
    for (size_t axis = axes_.size(); axis-- > 0; rest /= axes_[axis].extent) {
      index[axis] = rest % axes_[axis].extent;
      Move(offsets, axes_[axis].step, index[axis]);
    }
    for (int64_t position = begin; position < end;) {
      const int64_t count = std::min(inner.extent - index[innermost], end - position);
      body(position, count, offsets, inner.step);
      position += count;
      Move(offsets, inner.step, -index[innermost]);
      index[innermost] = 0;
      for (size_t axis = innermost; axis-- > 0;) {
        Move(offsets, axes_[axis].step, 1);
        if (++index[axis] < axes_[axis].extent) break;
        Move(offsets, axes_[axis].step, -axes_[axis].extent);
        index[axis] = 0;
      }
    }
  }

 private:
  static bool Continues(const Axis& outer, const Axis& inner) {
    for (size_t n = 0; n < kOperands; ++n) {
      if (outer.step[n] != inner.step[n] * inner.extent) return false;
    }
    return true;
  }

  static void Move(Steps& offsets, const Steps& step, int64_t times) {
    for (size_t n = 0; n < kOperands; ++n) offsets[n] += step[n] * times;
  }

  std::vector<Axis> axes_;  // see axes()
  int64_t count_ = 1;
};

}  // namespace plimsoll::kernels::cpu
